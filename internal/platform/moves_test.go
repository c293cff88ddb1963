package platform_test

import (
	"testing"

	"herald/internal/chat"
	"herald/internal/platform"
)

func TestAMoveIsNewOnce(t *testing.T) {
	var moves platform.Moves
	first := chat.Move{From: "telegram:-5", To: "telegram:-1007", Settings: "JOIN_CHATS"}
	more := first
	more.Settings = "JOIN_CHATS, STAKER_TAGS"
	for i, tt := range []struct {
		move  chat.Move
		isNew bool
	}{{first, true}, {first, false}, {more, true}, {more, false}} {
		if isNew := moves.Add(tt.move); isNew != tt.isNew {
			t.Errorf("%d: new is %t", i, isNew)
		}
		if got, known := moves.To(first.To); got != tt.move || !known {
			t.Errorf("%d: got %+v, %t", i, got, known)
		}
	}
	if _, known := moves.To(first.From); known {
		t.Error("the old ID is taken for the new one")
	}
}
