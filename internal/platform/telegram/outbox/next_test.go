package outbox

import (
	"slices"
	"testing"
	"time"

	"herald/internal/demo/fake/telegramtest"
	"herald/internal/platform/telegram/botapi"
)

const allParts = linkPart | picturePart | formatPart | threadPart | replyPart

// refusal returns the error of a call that Telegram refused with a code and a description.
func refusal(t *testing.T, code int, description string) *botapi.Error {
	t.Helper()
	o, s := openOutbox(t)
	s.Fail("sendMessage", telegramtest.Fault{Status: code, Description: description})
	_, err := o.post(t.Context(), Destination{Chat: group}, Content{Text: "x"})
	return botapi.ErrorOf(err)
}

// testBackoff is the wait before the next attempt, unless the error says more.
const testBackoff = time.Second

// stepCase is a failed attempt and what follows. No part of the message can have caused the error.
type stepCase struct {
	name string
	err  *botapi.Error
	s    state
	want step
}

func checkSteps(t *testing.T, cases []stepCase) {
	t.Helper()
	for _, test := range cases {
		test.s.backoff = testBackoff
		if got := next(test.err, test.s); got != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}

func TestAMessageThatIsNotSentIsRetried(t *testing.T) {
	notSent := &botapi.Error{Kind: botapi.NotSent}
	checkSteps(t, []stepCase{
		{
			name: "not connected",
			err:  notSent,
			s:    state{left: -time.Hour},
			want: step{action: retry, after: testBackoff},
		},
		{
			name: "not connected, and there is time for a short lifetime",
			err:  notSent,
			s:    state{lifetime: short, left: testBackoff},
			want: step{action: retry, after: testBackoff},
		},
		{
			name: "not connected until a short lifetime is over",
			err:  notSent,
			s:    state{lifetime: short, left: testBackoff / 2},
			want: step{action: giveUp, result: Retryable},
		},
		{
			name: "the token is refused",
			err:  &botapi.Error{Kind: botapi.Unauthorized},
			want: step{action: giveUp, result: Retryable},
		},
	})
}

func TestA429IsWaitedFor(t *testing.T) {
	tooMany := func(wait time.Duration) *botapi.Error {
		return &botapi.Error{Kind: botapi.TooManyRequests, RetryAfter: wait}
	}
	checkSteps(t, []stepCase{
		{
			name: "429",
			err:  tooMany(time.Minute),
			s:    state{left: 2 * time.Minute},
			want: step{action: retry, after: time.Minute},
		},
		{
			name: "429 without a time",
			err:  tooMany(0),
			s:    state{left: 2 * time.Minute},
			want: step{action: retry, after: testBackoff},
		},
		{
			name: "429 for too long",
			err:  tooMany(time.Hour),
			s:    state{left: 2 * time.Minute},
			want: step{action: giveUp, result: Lost},
		},
		{
			name: "429 for a Notice",
			err:  tooMany(time.Hour),
			s:    state{lifetime: unlimited, left: 2 * time.Minute},
			want: step{action: retry, after: time.Hour},
		},
		{
			name: "429 for longer than a short lifetime",
			err:  tooMany(20 * time.Second),
			s:    state{lifetime: short, left: 15 * time.Second},
			want: step{action: giveUp, result: Lost},
		},
	})
}

func TestAnUnknownOutcomeIsRepeated(t *testing.T) {
	unknown := &botapi.Error{Kind: botapi.OutcomeUnknown}
	checkSteps(t, []stepCase{
		{
			name: "unknown outcome",
			err:  unknown,
			s:    state{unknown: 1, parts: allParts},
			want: step{action: resend, after: 2 * time.Second},
		},
		{
			name: "unknown outcome twice",
			err:  unknown,
			s:    state{unknown: 2, parts: allParts &^ picturePart},
			want: step{action: resend, after: 5 * time.Second},
		},
		{
			name: "unknown outcome of a picture twice",
			err:  unknown,
			s:    state{unknown: 2, parts: allParts},
			want: step{action: retryPlainer, part: picturePart, after: 5 * time.Second},
		},
		{
			name: "unknown outcome three times",
			err:  unknown,
			s:    state{unknown: 3, parts: allParts},
			want: step{action: giveUp, result: OutcomeUnknown},
		},
		{
			name: "unknown outcome of a short lifetime",
			err:  unknown,
			s:    state{lifetime: short, left: time.Minute, unknown: 1},
			want: step{action: resend, after: 2 * time.Second},
		},
		{
			name: "unknown outcome of a short lifetime twice",
			err:  unknown,
			s:    state{lifetime: short, left: time.Minute, unknown: 2},
			want: step{action: giveUp, result: OutcomeUnknown},
		},
		{
			name: "unknown outcome at the end of a short lifetime",
			err:  unknown,
			s:    state{lifetime: short, left: time.Second, unknown: 1},
			want: step{action: giveUp, result: OutcomeUnknown},
		},
	})
}

func TestAMovedGroupIsFollowed(t *testing.T) {
	migrated := &botapi.Error{Kind: botapi.Migrated, NewChat: -7}
	checkSteps(t, []stepCase{
		{
			name: "the group has moved",
			err:  migrated,
			s:    state{canFollow: true},
			want: step{action: followGroup},
		},
		{
			name: "the group has moved, and the message cannot",
			err:  migrated,
			want: step{action: giveUp, result: Refused},
		},
	})
}

func TestAnExpiredQueryIsNotAnsweredAgain(t *testing.T) {
	expired := refusal(t, 400, "Bad Request: query is too old")
	checkSteps(t, []stepCase{
		{
			name: "the query has expired",
			err:  expired,
			s:    state{lifetime: short},
			want: step{action: giveUp, result: Refused},
		},
		{
			name: "the query has expired after an unknown outcome",
			err:  expired,
			s:    state{lifetime: short, unknown: 1},
			want: step{action: done},
		},
	})
}

func TestAMessageThatNoPartExplainsIsGivenUp(t *testing.T) {
	checkSteps(t, []stepCase{
		{
			name: "forbidden",
			err:  refusal(t, 403, "Forbidden: bot was blocked by the user"),
			s:    state{parts: allParts &^ picturePart},
			want: step{action: giveUp, result: Unreachable},
		},
		{
			name: "no such chat",
			err:  refusal(t, 400, "Bad Request: chat not found"),
			s:    state{parts: allParts},
			want: step{action: giveUp, result: Unreachable},
		},
		{
			name: "no right to write",
			err:  refusal(t, 400, "Bad Request: not enough rights to send text messages to the chat"),
			s:    state{parts: allParts},
			want: step{action: giveUp, result: Refused},
		},
		{
			name: "an ephemeral message that everybody can read",
			err:  &botapi.Error{Kind: botapi.Public},
			s:    state{lifetime: short, parts: linkPart | formatPart},
			want: step{action: giveUp, result: Refused},
		},
	})
}

// partCase is a refusal, and the parts that are left out one after the other while that refusal comes again.
type partCase struct {
	name        string
	code        int
	description string
	has         part // of the message
	left        []part
}

func checkParts(t *testing.T, cases []partCase) {
	t.Helper()
	for _, test := range cases {
		err := refusal(t, test.code, test.description)
		var left []part
		s := state{parts: test.has}
		for {
			step := next(err, s)
			if step.action != retryPlainer {
				break
			}
			left = append(left, step.part)
			s.parts &^= step.part
		}
		if !slices.Equal(left, test.left) {
			t.Errorf("%s: left out are %v, want %v", test.name, left, test.left)
		}
	}
}

func TestARefusedTopicReplyOrLinkIsLeftOut(t *testing.T) {
	checkParts(t, []partCase{
		{
			name:        "a topic",
			code:        400,
			description: "Bad Request: message thread not found",
			has:         allParts,
			left:        []part{threadPart, replyPart},
		},
		{
			name:        "a closed topic",
			code:        400,
			description: "Bad Request: TOPIC_CLOSED",
			has:         allParts,
			left:        []part{threadPart, replyPart},
		},
		{
			name:        "a reply",
			code:        400,
			description: "Bad Request: message to be replied not found",
			has:         allParts,
			left:        []part{replyPart},
		},
		{
			name:        "a link",
			code:        400,
			description: "Bad Request: inline keyboard button URL 'x' is invalid: Wrong HTTP URL",
			has:         allParts,
			left:        []part{linkPart},
		},
	})
}

func TestARefusedPictureIsLeftOut(t *testing.T) {
	checkParts(t, []partCase{
		{
			name:        "a picture",
			code:        400,
			description: "Bad Request: PHOTO_INVALID_DIMENSIONS",
			has:         allParts,
			left:        []part{picturePart},
		},
		{
			name:        "pictures in the chat",
			code:        400,
			description: "Bad Request: not enough rights to send photos to the chat",
			has:         allParts,
			left:        []part{picturePart},
		},
		{
			name:        "pictures in the chat, as a missing right",
			code:        403,
			description: "Forbidden: CHAT_SEND_PHOTOS_FORBIDDEN",
			has:         allParts,
			left:        []part{picturePart},
		},
		{
			name:        "something unnamed that is forbidden",
			code:        403,
			description: "Forbidden",
			has:         allParts,
			left:        []part{picturePart},
		},
	})
}

func TestUnnamedPartsAreLeftOutOneByOne(t *testing.T) {
	checkParts(t, []partCase{
		{
			name:        "something unnamed",
			code:        400,
			description: "Bad Request",
			has:         allParts,
			left:        []part{linkPart, picturePart, formatPart, threadPart, replyPart},
		},
		{
			name:        "something unnamed of an edit",
			code:        400,
			description: "Bad Request",
			has:         linkPart | formatPart,
			left:        []part{linkPart, formatPart},
		},
		{
			name:        "something unnamed of plain text",
			code:        400,
			description: "Bad Request",
		},
		{
			name:        "the topic of an edit",
			code:        400,
			description: "Bad Request: message thread not found",
			has:         linkPart | formatPart,
		},
	})
}
