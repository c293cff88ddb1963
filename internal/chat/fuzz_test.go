package chat_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"herald/internal/chat"
)

// FuzzArguments: whatever a member types, only a form for members runs, and
// nothing of it comes back.
func FuzzArguments(f *testing.F) {
	f.Add("exists", "")
	f.Add("exists", "12345")
	f.Add("exists", "EVM 0x52908400098527886E0F7030069857D2E4169EE7")
	f.Add("exists", "a b c \u202e \x00")
	f.Add("nonsense", "1")
	f.Fuzz(func(t *testing.T, command, rest string) {
		r := newRouter(t, new(bytes.Buffer), nil)
		words := strings.Fields(rest)
		reply := r.Handle(t.Context(), chat.Request{ID: "REF", Command: command, Args: chat.Typed(words...), From: ann})
		if reply.Title.Key == "ran" && len(words) > 0 {
			t.Fatalf("/%s %q ran for a member: %+v", command, rest, reply)
		}
		if said := fmt.Sprint(reply); len(rest) > 40 && strings.Contains(said, rest) {
			t.Fatalf("the input came back: %s", said)
		}
	})
}

// FuzzForeign: any text becomes one clean line within its limit that pings
// nobody and links nowhere.
func FuzzForeign(f *testing.F) {
	f.Add("plain", 10)
	f.Add("@everyone https://evil.example \u202e\x1b[31m", 60)
	f.Add("\xff\xfe", 1)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		if limit < 1 || limit > 4096 {
			return
		}
		out := string(chat.NewForeign(in, limit))
		visible := strings.ReplaceAll(out, "\u2060", "")
		if !utf8.ValidString(out) || utf8.RuneCountInString(visible) > limit {
			t.Fatalf("%q became %q", in, out)
		}
		if strings.ContainsFunc(visible, func(r rune) bool { return !unicode.IsGraphic(r) || r != ' ' && unicode.IsSpace(r) }) {
			t.Fatalf("%q became %q", in, out)
		}
		if strings.Contains(out, "@everyone") || strings.Contains(out, "://") {
			t.Fatalf("%q became %q", in, out)
		}
	})
}
