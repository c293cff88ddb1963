package chat_test

import (
	"errors"
	"strings"
	"testing"

	"herald/internal/chat"
)

func TestPanicErrorsShowNoForeignValue(t *testing.T) {
	const typed = "what somebody typed"
	for _, c := range []struct {
		cause func()
		want  string
	}{
		{func() { panic(typed) }, "panic with a string\n"},
		{func() { panic(errors.New(typed)) }, "panic with a *errors.errorString\n"},
		{func() { _ = []int{}[len(typed)] }, "panic: runtime error: index out of range [19] with length 0\n"},
		{func() { _ = any(typed).(error) }, "panic: interface conversion: string is not error: missing method Error\n"},
	} {
		err := recovered(c.cause)
		if text := err.Error(); !strings.HasPrefix(text, c.want) || strings.Contains(text, typed) || !strings.Contains(text, "panic_test.go") {
			t.Errorf("got %s, want %s and a stack", text, c.want)
		}
	}
}

func recovered(from func()) (err error) {
	defer func() { err = chat.PanicError(recover()) }()
	from()
	return nil
}
