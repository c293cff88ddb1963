package partner

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"time"
)

// canonical writes members as the service does when it checks a signature: in
// alphabetical order, without empty ones, without white space.
func canonical(members map[string]string) string {
	filled := maps.Clone(members)
	maps.DeleteFunc(filled, func(_, value string) bool { return value == "" })
	return string(encode(filled))
}

// encode writes JSON with sorted members. HTML characters stay as they are,
// since only Go escapes them, and the service would sign other bytes.
func encode(members map[string]string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	// A map of strings cannot fail to encode, nor a Buffer to be written.
	_ = e.Encode(members)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// sign makes the headers of a POST of inner to path at the time given.
func (c *Client) sign(at time.Time, path, inner string) http.Header {
	timestamp := strconv.FormatInt(at.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(c.secret.Reveal()))
	mac.Write([]byte(timestamp + http.MethodPost + path + inner))
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("appid", c.appID)
	header.Set("timestamp", timestamp)
	header.Set("sign", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return header
}
