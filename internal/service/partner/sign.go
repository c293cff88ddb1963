package partner

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// canonical writes members, none of them empty, as the service does when it
// checks a signature: in alphabetical order, without white space. HTML characters
// stay as they are, since only Go escapes them, and the service would sign other
// bytes.
func canonical(members map[string]string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(members) // a map of strings cannot fail to encode
	return strings.TrimSuffix(b.String(), "\n")
}

// sign makes the headers of a POST of inner to path at the time given.
func (c *Client) sign(at time.Time, path, inner string) http.Header {
	timestamp := strconv.FormatInt(at.UnixMilli(), 10)
	mac := hmac.New(sha256.New, []byte(c.settings.SecretKey.Reveal()))
	mac.Write([]byte(timestamp + http.MethodPost + path + inner))
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("appid", c.settings.AppID)
	header.Set("timestamp", timestamp)
	header.Set("sign", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return header
}
