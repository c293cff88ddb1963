package telegram

import (
	"bytes"
	"encoding/json"
	"image"
	_ "image/png" // the pictures that the bot sends
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
)

// Entity is a span of a sent text, in UTF-16 units.
type Entity struct {
	Type       string `json:"type"`
	Offset     int    `json:"offset"`
	Length     int    `json:"length"`
	URL        string `json:"url,omitempty"`
	UnixTime   int64  `json:"unix_time,omitempty"`
	TimeFormat string `json:"date_time_format,omitempty"`
}

// Markup is shown below a message: rows of buttons, or a prompt for a reply.
type Markup struct {
	Rows        [][]Button `json:"inline_keyboard,omitempty"`
	ForceReply  bool       `json:"force_reply,omitempty"`
	Placeholder string     `json:"input_field_placeholder,omitempty"`
	Selective   bool       `json:"selective,omitempty"`
}

// Button is a button of a Markup.
type Button struct {
	Text  string    `json:"text"`
	Style string    `json:"style,omitempty"`
	Data  string    `json:"callback_data,omitempty"`
	URL   string    `json:"url,omitempty"`
	Copy  *CopyText `json:"copy_text,omitempty"`
}

// CopyText is the text that a button copies.
type CopyText struct {
	Text string `json:"text"`
}

// Bounds on messages that the description does not have,
// https://core.telegram.org/bots/api#sendphoto and #inlinekeyboardbutton.
const (
	maxData  = 64 // bytes
	maxPhoto = 10 << 20
	maxSides = 10_000 // width and height of a picture together
	maxRatio = 20
)

var timeFormat = regexp.MustCompile(`^(r|w?[dD]?[tT]?)$`)

// checkText returns why Telegram refuses a text or a caption, which alone may be empty.
func checkText(text string, entities []Entity, caption bool) *refusal {
	if strings.TrimSpace(text) == "" && !caption {
		return bad("message text is empty")
	}
	if !spansFit(utf16.Encode([]rune(text)), entities) {
		return bad("entity bounds are wrong")
	}
	for _, e := range entities {
		switch {
		case e.Type == "text_link" && !isURL(e.URL):
			return bad("entity URL '" + e.URL + "' is invalid: Wrong HTTP URL")
		case e.Type == "date_time" && (e.UnixTime == 0 || !timeFormat.MatchString(e.TimeFormat)):
			return bad("can't parse entities: the date is wrong")
		}
	}
	return nil
}

// spansFit reports whether every entity marks whole characters of the text.
func spansFit(units []uint16, entities []Entity) bool {
	inside := func(i int) bool {
		return i > 0 && i < len(units) && utf16.IsSurrogate(rune(units[i])) && units[i] >= 0xDC00
	}
	for _, e := range entities {
		if e.Offset+e.Length > len(units) || inside(e.Offset) || inside(e.Offset+e.Length) {
			return false
		}
	}
	return true
}

// isURL reports whether Telegram takes an address. It refuses a host of one word, such as
// localhost (check_link in tdlib's LinkManager.cpp).
func isURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	isWeb := u.Scheme == "https" || u.Scheme == "http"
	isIPv6 := strings.HasPrefix(u.Host, "[")
	return u.Scheme == "tg" || isWeb && (isIPv6 || strings.Contains(u.Host, "."))
}

// readMarkup reads a markup, and returns why Telegram refuses it.
func readMarkup(raw json.RawMessage) (m Markup, no *refusal) {
	if raw == nil {
		return m, nil
	}
	if json.Unmarshal(raw, &m) != nil || m.Rows == nil && !m.ForceReply {
		return m, bad("can't parse reply markup")
	}
	for _, b := range slices.Concat(m.Rows...) {
		if no := b.check(); no != nil {
			return m, no
		}
	}
	return m, nil
}

func (b Button) check() *refusal {
	actions := 0
	for _, has := range []bool{b.Data != "", b.URL != "", b.Copy != nil} {
		if has {
			actions++
		}
	}
	switch {
	case actions != 1:
		return bad("can't parse inline keyboard button: it needs one action")
	case len(b.Data) > maxData:
		return bad("BUTTON_DATA_INVALID")
	case b.URL != "" && !isURL(b.URL):
		return bad("inline keyboard button URL '" + b.URL + "' is invalid: Wrong HTTP URL")
	}
	return nil
}

func checkPhoto(photo []byte) *refusal {
	c, _, err := image.DecodeConfig(bytes.NewReader(photo))
	if err != nil || len(photo) > maxPhoto {
		return bad("IMAGE_PROCESS_FAILED")
	}
	if c.Width+c.Height > maxSides || c.Width > maxRatio*c.Height || c.Height > maxRatio*c.Width {
		return bad("PHOTO_INVALID_DIMENSIONS")
	}
	return nil
}

// Shown returns all that a text, its links and the markup below it show: the text, and the
// rest as JSON.
func Shown(text string, entities []Entity, m Markup) string {
	all := bytes.NewBufferString(text + "\n")
	encoder := json.NewEncoder(all)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode([]any{entities, m}); err != nil {
		panic(err)
	}
	return all.String()
}
