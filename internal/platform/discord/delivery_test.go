package discord

import "testing"

func TestCallsThatDeliverAnAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		first        firstResponse
		promised     destination
		shown        destination
		want         delivery
		afterRefusal delivery
	}{
		"a new message": {
			first:        theAnswer,
			promised:     toNewMessage,
			shown:        toNewMessage,
			want:         asResponse,
			afterRefusal: undeliverable,
		},
		"a new message, deferred": {
			first:        theDeferral,
			promised:     toNewMessage,
			shown:        toNewMessage,
			want:         asEdit,
			afterRefusal: asFollowUp,
		},
		"in the message with the button": {
			first:        theAnswer,
			promised:     toPressedMessage,
			shown:        toPressedMessage,
			want:         asUpdate,
			afterRefusal: asResponse,
		},
		"in the message with the button, deferred": {
			first:        theDeferral,
			promised:     toPressedMessage,
			shown:        toPressedMessage,
			want:         asEdit,
			afterRefusal: asFollowUp,
		},
		"below the message with the button": {
			first:        theAnswer,
			promised:     toPressedMessage,
			shown:        toNewMessage,
			want:         asResponse,
			afterRefusal: undeliverable,
		},
		"below the message with the button, deferred": {
			first:        theDeferral,
			promised:     toPressedMessage,
			shown:        toNewMessage,
			want:         asFollowUp,
			afterRefusal: undeliverable,
		},
	} {
		got := firstDelivery(tt.first, tt.promised, tt.shown)
		equal(t, name, got, tt.want)
		equal(t, name+", after a refusal", got.afterRefusal(), tt.afterRefusal)
	}
}
