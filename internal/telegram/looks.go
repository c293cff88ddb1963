package telegram

import (
	"slices"
	"strings"

	"herald/internal/telegram/botapi"
)

// looks is how plain a message is made for a server that refuses it as it is.
// Each takes away what the one before it does, and more.
type looks int32

const (
	fullLooks looks = iota
	// plainTimes is without dates that the reader's app formats.
	plainTimes
	// ownLinks is without links that lead out of Telegram: it refuses some
	// addresses, such as http://localhost.
	ownLinks
	// plainText is without all that a server may be too old for. Code stays, or
	// else what is foreign might become a link, and so do links into Telegram, one
	// of which says what a question is about.
	plainText
)

func (l looks) dropsEntity(e botapi.Entity) bool {
	switch e.Type {
	case botapi.Code:
		return false
	case botapi.DateTime:
		return l >= plainTimes
	case botapi.TextLink:
		return l >= ownLinks && !intoTelegram(e.URL)
	}
	return l >= plainText
}

func (l looks) dropsButton(b botapi.Button) bool {
	return l >= ownLinks && b.URL != "" && !intoTelegram(b.URL) || l >= plainText && b.Copy != ""
}

func intoTelegram(url string) bool { return strings.HasPrefix(url, "https://t.me/") }

// changes reports whether c has anything that l is without.
func (l looks) changes(c botapi.Content) bool {
	keyboard, _ := c.Markup.(botapi.Keyboard)
	return slices.ContainsFunc(c.Entities, l.dropsEntity) ||
		slices.ContainsFunc(keyboard.Rows, func(row []botapi.Button) bool { return slices.ContainsFunc(row, l.dropsButton) })
}

// of is c with these looks.
func (l looks) of(c botapi.Content) botapi.Content {
	if !l.changes(c) {
		return c
	}
	c.Entities = slices.DeleteFunc(slices.Clone(c.Entities), l.dropsEntity)
	keyboard, is := c.Markup.(botapi.Keyboard)
	if !is {
		return c
	}
	var rows [][]botapi.Button
	for _, row := range keyboard.Rows {
		if row = slices.DeleteFunc(slices.Clone(row), l.dropsButton); len(row) > 0 {
			rows = append(rows, row)
		}
	}
	c.Markup = nil
	if rows != nil {
		c.Markup = botapi.Keyboard{Rows: rows}
	}
	return c
}

// plainer gives contents that were refused the next looks that change any of
// them, and reports whether there are such. Nothing changes if err is no refusal
// for what a message looks like.
func (l *looks) plainer(err *botapi.Error, contents ...*botapi.Content) bool {
	if !err.Unexplained() {
		return false
	}
	for next := *l + 1; next <= plainText; next++ {
		changed := false
		for _, c := range contents {
			changed = changed || next.changes(*c)
			*c = next.of(*c)
		}
		if changed {
			*l = next
			return true
		}
	}
	return false
}

// remember has the next messages rendered with the looks that the server took
// after it had refused fuller ones. Which address it refuses says nothing about
// other messages.
func (a *Adapter) remember(l looks) {
	if l != ownLinks && l > looks(a.looks.Load()) {
		a.looks.Store(int32(l))
	}
}
