package platform_test

import (
	"testing"

	"herald/internal/chat"
	"herald/internal/platform"
)

func TestAMoveIsNewOnce(t *testing.T) {
	var moves platform.Moves
	first := chat.Move{From: "telegram:-5", To: "telegram:-1007", Settings: "JOIN_CHATS"}
	withMoreSettings := first
	withMoreSettings.Settings = "JOIN_CHATS, STAKER_TAGS"
	for i, tt := range []struct {
		move  chat.Move
		isNew bool
	}{
		{move: first, isNew: true},
		{move: first, isNew: false},
		{move: withMoreSettings, isNew: true},
		{move: withMoreSettings, isNew: false},
	} {
		if isNew := moves.Add(tt.move); isNew != tt.isNew {
			t.Errorf("move %d: isNew is %t, want %t", i, isNew, tt.isNew)
		}
		if got, known := moves.To(tt.move.To); got != tt.move || !known {
			t.Errorf("move %d: To returns %+v, %t", i, got, known)
		}
	}
	if _, known := moves.To(first.From); known {
		t.Error("To finds a move by the old ID")
	}
}
