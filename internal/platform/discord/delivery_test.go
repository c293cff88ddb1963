package discord

import "testing"

func TestHowAnAnswerIsDelivered(t *testing.T) {
	for name, tt := range map[string]struct {
		first    firstResponse
		promised destination
		shown    destination
		want     delivery
		refused  delivery // what follows if Discord refuses want
	}{
		"a new message": {
			first:   theAnswer,
			want:    asResponse,
			refused: undeliverable,
		},
		"a new message, deferred": {
			first:   theDeferral,
			want:    asEdit,
			refused: asFollowUp,
		},
		"in place": {
			first:    theAnswer,
			promised: toPressedMessage,
			shown:    toPressedMessage,
			want:     asUpdate,
			refused:  asResponse,
		},
		"in place, deferred": {
			first:    theDeferral,
			promised: toPressedMessage,
			shown:    toPressedMessage,
			want:     asEdit,
			refused:  asFollowUp,
		},
		"beside the message with the button": {
			first:    theAnswer,
			promised: toPressedMessage,
			shown:    toNewMessage,
			want:     asResponse,
			refused:  undeliverable,
		},
		"beside the message with the button, deferred": {
			first:    theDeferral,
			promised: toPressedMessage,
			shown:    toNewMessage,
			want:     asFollowUp,
			refused:  undeliverable,
		},
	} {
		got := firstDelivery(tt.first, tt.promised, tt.shown)
		equal(t, name, got, tt.want)
		equal(t, name+", refused", got.afterRefusal(), tt.refused)
	}
}
