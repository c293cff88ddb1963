//go:build speed

package speed

import (
	"bytes"
	"errors"
	"mime/multipart"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/app/e2e/e2etest"
)

func TestALoadFailsUnlessEveryCommandIsAnsweredRightlyAndOnce(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(l *load, number int64)
		want   string
	}{
		"right":   {func(l *load, number int64) { l.answer(number, nil) }, ""},
		"lost":    {func(l *load, number int64) { drop(l, number, 12) }, "1 of 3 commands were not answered"},
		"wrong":   {func(l *load, number int64) { l.answer(number, errors.New("wrong")) }, "wrong"},
		"doubled": {func(l *load, number int64) { l.answer(number, nil); l.answer(number, nil) }, "command 10 was answered twice"},
		"unasked": {func(l *load, number int64) { l.answer(number, nil); l.answer(number+1, nil) }, "command 11 was answered and is not asked here"},
		"older":   {func(l *load, number int64) { l.answer(number, nil); l.answer(9, nil) }, "command 9 was answered and is not asked here"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLoad(10, 3, 2)
				_, err := l.ask(0, func(number int64) { c.answer(l, number) })
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("%v, want %q", err, c.want)
				}
			})
		})
	}
}

func TestACommandIsAnsweredOnceItsAnswerCame(t *testing.T) {
	l := newLoad(10, 2, 0)
	if _, err := l.ask(0, func(number int64) {
		if l.isAnswered(number) || !l.isAnswered(9) {
			t.Errorf("before the answer to command %d: %v; before the load: %v", number, l.isAnswered(number), l.isAnswered(9))
		}
		l.answer(number, nil)
	}); err != nil || !l.isAnswered(10) || !l.isAnswered(11) || l.isAnswered(12) {
		t.Errorf("%v; answered: 10 %v, 11 %v, 12 %v", err, l.isAnswered(10), l.isAnswered(11), l.isAnswered(12))
	}
}

// drop answers every command but one.
func drop(l *load, number, lost int64) {
	if number != lost {
		l.answer(number, nil)
	}
}

func TestALoadKeepsItsBoundAndItsPaceAndTimesAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Each answer takes 10 ms, of which two are in hand: 5 times 10 ms.
		l := newLoad(1, 10, 2)
		took, err := l.ask(0, func(number int64) { time.AfterFunc(10*time.Millisecond, func() { l.answer(number, nil) }) })
		if took != 50*time.Millisecond || err != nil {
			t.Errorf("10 commands, two at a time, took %v, %v", took, err)
		}
		// The last of ten is asked after 9 gaps.
		l = newLoad(1, 10, 0)
		took, err = l.ask(time.Second, func(number int64) {
			time.AfterFunc(time.Duration(number)*time.Second, func() { l.answer(number, nil) })
		})
		if took != 19*time.Second || err != nil {
			t.Errorf("10 commands, one a second, took %v, %v", took, err)
		}
		if median, p99 := l.quantile(0.5), l.quantile(1); median != 5*time.Second || p99 != 10*time.Second {
			t.Errorf("median %v, slowest %v", median, p99)
		}
	})
}

func TestNumbersAreFoundInJSONAndInForms(t *testing.T) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	w.WriteField("chat_id", "-1001")
	w.WriteField("reply_parameters", `{"message_id":42}`)
	w.Close()
	for name, body := range map[string][]byte{
		"form": form.Bytes(),
		"JSON": []byte(`{"chat_id":-1001,"reply_parameters":{"message_id": 42}}`),
	} {
		if chat, message, none := numberOf(body, "chat_id"), numberOf(body, "message_id"), numberOf(body, "offset"); chat != -1001 || message != 42 || none != 0 {
			t.Errorf("%s: chat %d, message %d, offset %d", name, chat, message, none)
		}
	}
}

func TestAnAnswerIsRightOnlyWithThePriceAndInItsPlace(t *testing.T) {
	if judge([]byte("Price: "+e2etest.Price), true) != nil {
		t.Error("a right answer is refused")
	}
	if judge([]byte("Busy."), true) == nil || judge([]byte(e2etest.Price), false) == nil {
		t.Error("a wrong answer is accepted")
	}
}

func TestTheTableShowsMediansOfRatiosAndMissedGoals(t *testing.T) {
	of := func(rates ...float64) contender {
		c := contender{memory: 1 << 20}
		for _, rate := range rates {
			c.figures = append(c.figures, figures{rate: rate, cpu: time.Second, median: time.Second, p99: time.Second})
		}
		return c
	}
	// The ratios are 0.5, 0.9 and 2.
	text := table([]result{{way{name: "a way", goal: goal{rate: 0.95, cpu: 1.2}}, of(50, 90, 400), of(100, 100, 200)}})
	for _, want := range []string{"| a way | 90 : 100 = **0.90** (≥ 0.95 missed) |", "= **1.00** (≤ 1.20) |", "| 1 : 1 = 1.00 |"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
}
