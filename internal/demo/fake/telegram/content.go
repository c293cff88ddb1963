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

// Entity is a part of a text with a meaning or a style. Offset and Length are in UTF-16 code units.
type Entity struct {
	Type       string `json:"type"`
	Offset     int    `json:"offset"`
	Length     int    `json:"length"`
	URL        string `json:"url,omitempty"`
	UnixTime   int64  `json:"unix_time,omitempty"`
	TimeFormat string `json:"date_time_format,omitempty"`
}

// Markup is what a message has below its content: rows of buttons, or a prompt for a reply.
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

// Limits that the description does not have, from https://core.telegram.org/bots/api#sendphoto and
// https://core.telegram.org/bots/api#inlinekeyboardbutton.
const (
	maxData  = 64       // bytes
	maxPhoto = 10 << 20 // bytes
	maxSides = 10_000   // the sum of a picture's width and height, in pixels
	maxRatio = 20       // of a picture's longer side to its shorter one
)

// timeFormat matches the date_time_format of an Entity.
var timeFormat = regexp.MustCompile(`^(r|w?[dD]?[tT]?)$`)

// checkText checks the text of a message.
func checkText(text string, entities []Entity) *refusal {
	if strings.TrimSpace(text) == "" {
		return bad("message text is empty")
	}
	return checkCaption(text, entities)
}

// checkCaption checks the caption of a picture, which may be empty.
func checkCaption(text string, entities []Entity) *refusal {
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

// spansFit reports whether every entity is within the text, and begins and ends between two characters. units is the
// text in UTF-16.
func spansFit(units []uint16, entities []Entity) bool {
	const firstLowSurrogate = 0xDC00
	insideCharacter := func(i int) bool {
		return i > 0 && i < len(units) && utf16.IsSurrogate(rune(units[i])) && units[i] >= firstLowSurrogate
	}
	for _, e := range entities {
		end := e.Offset + e.Length
		if end > len(units) || insideCharacter(e.Offset) || insideCharacter(end) {
			return false
		}
	}
	return true
}

// isURL reports whether Telegram accepts an address in a link. It refuses a host of one word, such as localhost
// (check_link in tdlib's LinkManager.cpp).
func isURL(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	isWeb := u.Scheme == "https" || u.Scheme == "http"
	isIPv6 := strings.HasPrefix(u.Host, "[")
	return u.Scheme == "tg" || isWeb && (isIPv6 || strings.Contains(u.Host, "."))
}

// readMarkup reads the parameter reply_markup, which may be missing, and checks it.
func readMarkup(raw json.RawMessage) (m Markup, refused *refusal) {
	if raw == nil {
		return m, nil
	}
	if json.Unmarshal(raw, &m) != nil || m.Rows == nil && !m.ForceReply {
		return m, bad("can't parse reply markup")
	}
	for _, b := range slices.Concat(m.Rows...) {
		if refused := b.check(); refused != nil {
			return m, refused
		}
	}
	return m, nil
}

func (b Button) check() *refusal {
	actions := 0
	for _, isSet := range []bool{b.Data != "", b.URL != "", b.Copy != nil} {
		if isSet {
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
	size, _, err := image.DecodeConfig(bytes.NewReader(photo))
	if err != nil || len(photo) > maxPhoto {
		return bad("IMAGE_PROCESS_FAILED")
	}
	if size.Width+size.Height > maxSides || size.Width > maxRatio*size.Height || size.Height > maxRatio*size.Width {
		return bad("PHOTO_INVALID_DIMENSIONS")
	}
	return nil
}

// Shown returns everything that a message shows, except its picture: the text, followed by the entities and the
// markup as JSON.
func Shown(text string, entities []Entity, m Markup) string {
	all := bytes.NewBufferString(text + "\n")
	encoder := json.NewEncoder(all)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode([]any{entities, m}); err != nil {
		panic(err)
	}
	return all.String()
}
