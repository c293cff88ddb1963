package discord

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
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
	if err := r.ParseMultipartForm(maxUpload); err != nil {
		return nil, nil, fmt.Errorf("multipart: %w", err)
	}
	if json.Unmarshal([]byte(r.FormValue("payload_json")), &body) != nil || body == nil {
		return nil, nil, errors.New("multipart: payload_json is missing or not JSON")
	}
	files = map[string]Attachment{}
	for name, headers := range r.MultipartForm.File {
		var number uint8
		if _, err := fmt.Sscanf(name, "files[%d]", &number); err != nil {
			return nil, nil, fmt.Errorf("multipart: %q is not files[n]", name)
		}
		file, err := headers[0].Open()
		if err != nil {
			return nil, nil, fmt.Errorf("multipart: %w", err)
		}
		content, err := io.ReadAll(file)
		if err != nil || len(content) == 0 || len(content) > maxUpload {
			return nil, nil, errors.New("multipart: a file is empty or too large")
		}
		kind := headers[0].Header.Get("Content-Type")
		files[fmt.Sprint(number)] = Attachment{Name: headers[0].Filename, ContentType: kind, Bytes: content}
	}
	return body, files, nil
}
