package telegram

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-telegram/bot/models"

	"herald/internal/chat"
	"herald/internal/platform/telegram/outbox"
	"herald/internal/words"
)

// Telegram's limits on one message, https://core.telegram.org/bots/api#sendmessage,
// #sendphoto and https://core.telegram.org/api/entities.
const (
	maxUnits    = 4096 // UTF-16 units of the text
	maxCaption  = 1024 // UTF-16 units of the caption of a picture
	maxEntities = 100
)

const (
	// maxPlaceholder limits the text in an empty field for a reply, in characters,
	// https://core.telegram.org/bots/api#forcereply.
	maxPlaceholder = 64
	// maxAlert limits the text of an alert, in characters, https://core.telegram.org/bots/api#answercallbackquery.
	maxAlert = 200
	// maxDescription limits the description of an inline result, in characters. Apps show about as many.
	maxDescription = 150
)

// A question for an argument has a link below its first, invisible character. The link
// names the command (askedFor).
const (
	hidden     = "\u200b"
	askPayload = "ask-"
)

// deepLink returns a link that opens the private chat with a bot and sends /start with the
// payload: 1 to 64 of A-Za-z0-9_-, https://core.telegram.org/bots/features#deep-linking.
func deepLink(bot, payload string) string { return "https://t.me/" + bot + "?start=" + payload }

// render returns a reply as a message, shortened to Telegram's limits. Styles are entities, which mark spans of the
// text. So nothing in the text has to be escaped. bot is the bot's username.
func render(r *chat.Reply, bot string) outbox.Content {
	c := words.Print(r)
	c.FullValues = append(c.FullValues, c.Folded...)
	limit := maxUnits
	var picture []byte
	if c.Image != nil {
		limit = maxCaption
		picture = c.Image.PNG
	}
	p := layOut(c, bot)
	if p.units > limit {
		unitsOfNoField := words.Units(hidden + c.Sign + gap + c.Dot)
		p = layOut(c.Fit(limit-unitsOfNoField, lineUnits), bot)
	}
	content := outbox.Content{
		Text:     p.b.String(),
		Entities: fewer(p.entities),
		Markup:   keyboard(c.Buttons, bot),
		Picture:  picture,
	}
	if strings.TrimSpace(content.Text) == "" {
		content.Text = "…" // Telegram refuses a message without text.
	}
	if c.Ask != nil {
		content.Markup = &models.ForceReply{
			ForceReply:            true,
			InputFieldPlaceholder: words.Cut(c.Ask.Question, maxPlaceholder),
			Selective:             true,
		}
	}
	return content
}

// layOut writes a card on a page of any length.
func layOut(c words.Card, bot string) *page {
	p := &page{sign: c.Sign, entities: make([]models.MessageEntity, 0, 16)}
	if c.Ask != nil {
		p.entities = append(p.entities, models.MessageEntity{
			Type:   models.MessageEntityTypeTextLink,
			Length: 1,
			URL:    deepLink(bot, askPayload+linkPayload(c.Ask.Command, c.Ask.Args...)),
		})
		p.write(hidden)
	}
	title := []part{bold(c.Title)}
	if !c.Subtitle.Empty() {
		title = append(title, plain(words.Line{{Text: gap + c.Dot}}), plain(c.Subtitle))
	}
	p.line(title...)
	p.line(plain(c.Text))
	for _, s := range c.Sections {
		p.line(bold(s.Heading))
		for _, f := range s.Fields {
			p.line(fieldParts(f)...)
		}
	}
	quoteBegin := p.units + p.breaks
	for _, f := range c.FullValues {
		parts := fieldParts(f)
		for i := range parts {
			parts[i].style = "" // maxEntities is too low for a style on each line of a long list.
		}
		p.line(parts...)
	}
	p.mark(models.MessageEntity{Type: models.MessageEntityTypeExpandableBlockquote, Offset: quoteBegin})
	for _, n := range append(c.Notes, c.Footer) {
		p.line(italic(n))
	}
	return p
}

// gap separates a name from a value of another style.
const gap = "  "

// part is a part of a line in one style.
type part struct {
	style models.MessageEntityType // "" is no style
	words.Line
}

func plain(l words.Line) part  { return part{Line: l} }
func bold(l words.Line) part   { return part{style: models.MessageEntityTypeBold, Line: l} }
func italic(l words.Line) part { return part{style: models.MessageEntityTypeItalic, Line: l} }

// fieldParts returns the parts of a field's line. A value with a name is bold up to its first
// dot, unless it has code in it.
func fieldParts(f words.Field) []part {
	if f.Name.Empty() || f.Value.Empty() {
		return []part{plain(f.Name), plain(f.Value)}
	}
	first, rest := f.Value.CutDot()
	value := bold(first)
	hasCode := slices.ContainsFunc(f.Value, func(s words.Span) bool {
		return entityOf(s).Type == models.MessageEntityTypeCode
	})
	if hasCode {
		value = plain(first)
	}
	return []part{plain(f.Name), plain(words.Line{{Text: gap}}), value, plain(rest)}
}

// lineUnits returns the length of a field's line in UTF-16 units, with the line break before it. For a field without a
// name, it returns one unit more.
func lineUnits(f words.Field) int {
	n := 1 + words.Units(gap)
	for _, l := range []words.Line{f.Name, f.Value} {
		for _, s := range l {
			n += words.Units(shownText(s))
		}
	}
	if f.Name.Empty() {
		n++
	}
	return n
}

// shownText returns the text of a span. A time is a date in UTC, which an app too old for
// the entity shows as it is.
func shownText(s words.Span) string {
	if s.Moment != nil {
		return s.Moment.Date
	}
	return s.Text
}

// page is a text that is being written.
type page struct {
	sign     string // to write before the first line; "" once it is written
	b        strings.Builder
	units    int // the length of b in UTF-16 units
	breaks   int // how many line breaks to write before the next line: 0 before the first line, then 1
	entities []models.MessageEntity
}

// line writes one line unless it would be empty. Where a part has code in it, its style leaves out the code, because
// Telegram allows no other style there.
func (p *page) line(parts ...part) {
	hasText := slices.ContainsFunc(parts, func(p part) bool { return !p.Empty() })
	if !hasText {
		return
	}
	p.write(strings.Repeat("\n", p.breaks))
	p.breaks = 1
	p.write(p.sign)
	p.sign = ""
	for _, part := range parts {
		styled := models.MessageEntity{Type: part.style, Offset: p.units}
		for _, s := range part.Line {
			e := entityOf(s)
			e.Offset = p.units
			isCode := e.Type == models.MessageEntityTypeCode
			if isCode { // The style ends before the code, and begins again after it.
				p.mark(styled)
			}
			p.write(shownText(s))
			p.mark(e)
			if isCode {
				styled.Offset = p.units
			}
		}
		p.mark(styled)
	}
}

// entityOf returns the entity of a span, without its Offset and Length. If the entity has no Type, the span is
// plain. A link that Telegram does not accept is left out. Untrusted text that Telegram could make a link of, such as a
// domain or a command, becomes code, which Telegram leaves alone.
func entityOf(s words.Span) models.MessageEntity {
	isUser := s.Person != nil && s.Person.Platform == Platform && idOf(s.Person.ID) > 0
	switch {
	case isUser && s.Text == s.Person.ID: // before code, because Telegram could take an ID for a telephone number
		return textLink(userLink + s.Person.ID)
	case s.Style == words.Code, s.Style == words.Untrusted && maybeLink(s.Text):
		return models.MessageEntity{Type: models.MessageEntityTypeCode}
	case s.Moment != nil && s.Moment.Unix() > 0:
		return models.MessageEntity{
			Type:           models.MessageEntityTypeDateTime,
			UnixTime:       int(s.Moment.Unix()),
			DateTimeFormat: relative,
		}
	case s.URL != "" && acceptsLink(s.URL):
		return textLink(s.URL)
	case isUser:
		return textLink(userLink + s.Person.ID)
	case s.Style == words.Strong:
		return models.MessageEntity{Type: models.MessageEntityTypeBold}
	}
	return models.MessageEntity{}
}

func textLink(url string) models.MessageEntity {
	return models.MessageEntity{Type: models.MessageEntityTypeTextLink, URL: url}
}

// userLink with a user's ID opens their profile, https://core.telegram.org/bots/api#formatting-options. Telegram
// notifies only users in the chat of such a link, and only private answers name users.
const userLink = "tg://user?id="

// maybeLink reports whether Telegram could make a link of a part of the text: a domain, a
// command, a tag, a name, or the number of a telephone or of a card.
func maybeLink(text string) bool {
	digits := 0
	return strings.ContainsFunc(text, func(r rune) bool {
		if unicode.IsDigit(r) {
			digits++
		}
		isHarmless := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSpace(r) || r == '-'
		return !isHarmless || digits > 4
	})
}

// relative is the format of a time shown as how long ago it is,
// https://core.telegram.org/bots/api#date-time-entity-formatting.
const relative = "r"

// mark adds an entity over what was written since its Offset.
func (p *page) mark(e models.MessageEntity) {
	e.Length = p.units - e.Offset
	if e.Type != "" && e.Length > 0 {
		p.entities = append(p.entities, e)
	}
}

func (p *page) write(s string) {
	p.b.WriteString(s)
	p.units += words.Units(s)
}

// fewer returns at most maxEntities entities. If there are more, it keeps only quotes, which fold long lists away, and
// code, which keeps untrusted text from becoming a link. If these are still too many, it extends the last one that fits
// over the others.
func fewer(entities []models.MessageEntity) []models.MessageEntity {
	if len(entities) > maxEntities {
		kept := []models.MessageEntityType{models.MessageEntityTypeCode, models.MessageEntityTypeExpandableBlockquote}
		entities = slices.DeleteFunc(entities, func(e models.MessageEntity) bool { return !slices.Contains(kept, e.Type) })
	}
	if len(entities) > maxEntities {
		final := entities[len(entities)-1]
		lastKept := &entities[maxEntities-1]
		lastKept.Length = final.Offset + final.Length - lastKept.Offset
		entities = entities[:maxEntities]
	}
	return entities
}

// The styles of buttons, https://core.telegram.org/bots/api#inlinekeyboardbutton. Servers
// before Bot API 9.4 ignore them.
const (
	stylePrimary = "primary" // blue
	styleSuccess = "success" // green
)

// rowWidth is how many characters of labels stand side by side on a telephone.
const rowWidth = 30

// keyboard puts buttons in rows. It leaves out those with a link that Telegram does not accept. If
// there is none left, it returns nil.
func keyboard(buttons []words.Button, bot string) models.ReplyMarkup {
	isRefused := func(b words.Button) bool { return b.URL != "" && !acceptsLink(b.URL) }
	buttons = slices.DeleteFunc(slices.Clone(buttons), isRefused)
	if len(buttons) == 0 {
		return nil
	}
	var rows [][]models.InlineKeyboardButton
	var row []models.InlineKeyboardButton // the row that is being filled
	widest := 0                           // the longest label in row: all buttons of a row get one width
	for _, b := range buttons {
		widest = max(widest, words.Units(b.Label))
		isFull := widest*(len(row)+1) > rowWidth
		if len(row) > 0 && (b.NewRow || isFull) {
			rows = append(rows, row)
			row = nil
			widest = words.Units(b.Label)
		}
		row = append(row, keyboardButton(b, bot))
	}
	return &models.InlineKeyboardMarkup{InlineKeyboard: append(rows, row)}
}

func keyboardButton(b words.Button, bot string) models.InlineKeyboardButton {
	button := models.InlineKeyboardButton{Text: b.Label, CallbackData: b.State, URL: b.URL}
	switch {
	case b.Private:
		button.URL = deepLink(bot, "help")
	case b.Invite:
		// https://core.telegram.org/bots/features#deep-linking
		button.URL = "https://t.me/" + bot + "?startgroup=true"
	}
	if b.Copy != "" {
		button.CopyText = &models.CopyTextButton{Text: b.Copy}
	}
	switch {
	case b.Current:
		button.Style = stylePrimary
	case b.NextStep:
		button.Style = styleSuccess
	}
	return button
}

// renderAlert returns the text of a reply, cut to the length of an alert. It clears r.Ask, because an alert has no
// field for the argument.
func renderAlert(r *chat.Reply) string {
	r.Ask = nil
	return words.Cut(render(r, "").Text, maxAlert)
}

// article is one result of an inline query.
type article struct {
	id          string // 1 to 64 bytes, unlike the others'
	title       string
	description string
	content     outbox.Content // what the user sends by choosing it
}

// result returns the article as Telegram takes it.
func (a *article) result() *models.InlineQueryResultArticle {
	return &models.InlineQueryResultArticle{
		ID:          a.id,
		Title:       a.title,
		Description: a.description,
		InputMessageContent: &models.InputTextMessageContent{
			MessageText:        a.content.Text,
			Entities:           a.content.Entities,
			LinkPreviewOptions: outbox.NoPreview(),
		},
		ReplyMarkup: a.content.Markup,
	}
}

// renderArticle returns r as a result of an inline query, whose title is r's first line. Choosing the result sends r
// without a question and without the buttons that carry a command, which renderArticle removes from r.
func renderArticle(id string, r *chat.Reply, bot string) article {
	r.Ask = nil
	r.Actions = slices.DeleteFunc(slices.Clone(r.Actions), func(a chat.Action) bool { return a.Command != "" })
	content := render(r, bot)
	title, rest, _ := strings.Cut(content.Text, "\n")
	lines := strings.FieldsFunc(rest, func(c rune) bool { return c == '\n' })
	return article{
		id:          id,
		title:       title,
		description: words.Cut(strings.Join(lines, " ·\u00a0"), maxDescription),
		content:     content,
	}
}
