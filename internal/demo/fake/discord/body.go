package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// maxUpload bounds one file, in bytes.
// https://discord.com/developers/docs/reference#uploading-files
const maxUpload = 10 << 20

// readBody reads the JSON that a call sends, and its files by their number. With
// files it is multipart: the JSON is its part payload_json, and each file is one
// called files[n].
func readBody(r *http.Request) (body any, files map[string]Attachment, err error) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		if json.NewDecoder(r.Body).Decode(&body) != nil {
			return nil, nil, errors.New("is not JSON")
		}
		return body, nil, nil
	case "multipart/form-data":
		return readParts(r)
	default:
		return nil, nil, errors.New("Content-Type: is neither JSON nor multipart")
	}
}

func readParts(r *http.Request) (body any, files map[string]Attachment, err error) {
	reader, err := r.MultipartReader()
	if err != nil {
		return nil, nil, fmt.Errorf("multipart: %w", err)
	}
	files = map[string]Attachment{}
	for {
		part, err := reader.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("multipart: %w", err)
		}
		content, err := io.ReadAll(io.LimitReader(part, maxUpload+1))
		number, isFile := fileNumber(part.FormName())
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("multipart: %w", err)
		case len(content) > maxUpload:
			return nil, nil, errors.New("multipart: a file is too large")
		case part.FormName() == "payload_json":
			if json.Unmarshal(content, &body) != nil {
				return nil, nil, errors.New("multipart: payload_json is not JSON")
			}
		case isFile && (part.FileName() == "" || len(content) == 0):
			return nil, nil, errors.New("multipart: a file has no name or content")
		case isFile:
			files[number] = Attachment{Name: part.FileName(), ContentType: part.Header.Get("Content-Type"), Bytes: content}
		default:
			return nil, nil, fmt.Errorf("multipart: %q is neither payload_json nor a file", part.FormName())
		}
	}
	if body == nil {
		return nil, nil, errors.New("multipart: has no payload_json")
	}
	return body, files, nil
}

// fileNumber is the n of files[n].
func fileNumber(name string) (n string, ok bool) {
	n, opened := strings.CutPrefix(name, "files[")
	n, closed := strings.CutSuffix(n, "]")
	_, err := strconv.ParseUint(n, 10, 8)
	return n, opened && closed && err == nil
}
