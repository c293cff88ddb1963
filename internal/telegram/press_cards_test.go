package telegram

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/commands/commandstest"
	"herald/internal/chat"
	"herald/internal/core"
	"herald/internal/telegram/telegramtest"
)

// oneByOne is a Router that answers one request at a time, as the services of a
// commandstest.World must be asked.
type oneByOne struct {
	*chat.Router
	mu sync.Mutex
}

func (o *oneByOne) Handle(ctx context.Context, req chat.Request) chat.Reply {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Router.Handle(ctx, req)
}

const anns, bobs, communitys = 1, 12345, -1001234567890

// product runs the product's commands in a World, two minutes after its noon. It
// is called in a bubble.
func product(t *testing.T, change func(*commandstest.World)) (*rig, *commandstest.World, *oneByOne) {
	t.Helper()
	time.Sleep(time.Until(commandstest.Noon.Add(2 * time.Minute)))
	w := commandstest.Healthy()
	for i := range 30 {
		w.Logins = append(w.Logins, core.Login{Dapp: fmt.Sprint("Dapp ", i), Platform: "EVM", At: commandstest.Noon})
	}
	if change != nil {
		change(w)
	}
	return setUpInMemory(t, nil), w, &oneByOne{Router: w.Router(t)}
}

// wants is what a command that is asked in a chat is answered with.
func (o *oneByOne) wants(t *testing.T, where telegramtest.Chat, typed string) richText {
	words := strings.Fields(typed)
	req := requestIn(tgChat{ID: where.ID, Type: where.Type}, anns, "")
	req.Command, req.Args = words[0], chat.Typed(words[1:]...)
	return shown(o.Handle(t.Context(), req), req.Direct)
}

// Every button under every answer is pressed: by whoever asked, by another, by
// both at once, and after a restart; while what the answer shows is as it was,
// and when it has changed.
func TestEachButtonOfEachCardIsPressed(t *testing.T) {
	group, private := telegramtest.Group(communitys), telegramtest.Private(anns)
	ways := map[string]func(r *rig, press func(user int64)) (presses int){
		"by its asker":    func(_ *rig, press func(int64)) int { press(anns); return 1 },
		"by another":      func(_ *rig, press func(int64)) int { press(bobs); return 1 },
		"twice at once":   func(_ *rig, press func(int64)) int { press(anns); press(bobs); return 2 },
		"twice by one":    func(_ *rig, press func(int64)) int { press(anns); press(anns); return 2 },
		"again and again": func(_ *rig, press func(int64)) int { press(anns); synctest.Wait(); press(anns); return 2 },
	}
	pressed := map[string]bool{}
	for _, where := range []telegramtest.Chat{group, private} {
		for _, line := range []string{"/price", "/price 7d", "/supply", "/staked " + commandstest.Wallet, "/mylogins", "/mylogins 2", "/help", "/exists", "/verify " + commandstest.AnnsWallet} {
			for way, by := range ways {
				for _, restart := range []bool{false, true} {
					for _, changed := range []bool{false, true} {
						for i := 0; ; i++ {
							more := false
							synctest.Test(t, func(t *testing.T) {
								var label string
								label, more = pressOne(t, where, line, i, restart, changed, by)
								if more {
									pressed[label] = true
								}
							})
							if t.Failed() {
								t.Fatalf("%s in the %s chat, button %d, %s, restart %v, changed %v", line, where.Type, i, way, restart, changed)
							}
							if !more {
								break
							}
						}
					}
				}
			}
		}
	}
	for _, label := range []string{"Refresh", "24 h", "7 d", "30 d", "Older", "Newer"} {
		if !pressed[label] {
			t.Errorf("no answer has the button %q, only %v", label, pressed)
		}
	}
}

// pressOne presses the button of this number under the answer to line; more is
// false if it has fewer.
func pressOne(t *testing.T, where telegramtest.Chat, line string, number int, restart, changed bool, by func(*rig, func(int64)) int) (label string, more bool) {
	r, w, router := product(t, nil)
	stop := r.serve(router)
	r.api.Start(anns)
	r.api.Push(telegramtest.Text(where, telegramtest.Person(anns), line))
	synctest.Wait()
	before := r.api.Sent()
	card := before[0]
	where = chatOf(card) // A private answer stands in the private chat.
	var buttons []telegramtest.Button
	for _, row := range card.Markup.Rows {
		for _, b := range row {
			if b.Data != "" {
				buttons = append(buttons, b)
			}
		}
	}
	if number >= len(buttons) {
		return "", false
	}
	button := buttons[number]
	if changed {
		w.Price.At, w.Supply.At = w.Price.At.Add(time.Minute), w.Supply.At.Add(time.Minute)
		w.Price.Value.LastUpdated = w.Price.At
		w.Price.Value.Price = w.Price.Value.Price.Add(w.Price.Value.Price)
	}
	if restart {
		if err := stop(); err != nil {
			t.Error(err)
		}
		r = r.againInMemory()
		r.serve(router)
	}
	presses := by(r, func(user int64) {
		if where.Type == "private" {
			user = where.ID
		}
		r.api.Press(user, where, card.ID, button.Data)
	})
	synctest.Wait()
	time.Sleep(5 * time.Second)
	notices := r.told(presses)
	if !r.api.WaitAcknowledged(soon) {
		t.Error("a press is not acknowledged")
	}
	after := r.api.Sent()
	now := after[0]
	state, err := chat.ParseState(button.Data)
	if err != nil {
		t.Fatalf("%q: %v", button.Data, err)
	}
	want := router.wants(t, where, typed(state.Command, state.Args))
	silent := 0
	for _, n := range notices {
		switch {
		case n.Text == "":
			silent++
		case n.Text != "Already up to date" || n.Alert || state.AsOf.IsZero():
			t.Errorf("the presser is told %+v", n)
		}
	}
	isPicture := card.Photo != nil
	switch becomesPicture := want.picture != nil; {
	case !state.AsOf.IsZero() && !changed || !state.AsOf.IsZero() && state.Command == "staked":
		if silent != 0 || now.Edits != 0 || len(after) != len(before) {
			t.Errorf("it is as it was, and %d were not told so; the message is edited %d times", silent, now.Edits)
		}
	case becomesPicture || !isPicture:
		if len(after) != len(before) || now.Edits < 1 && want.Text != card.Text || now.Text != want.Text || !bytes.Equal(now.Photo, want.picture) || len(now.Markup.Rows) == 0 {
			t.Errorf("edited %d times to %q, want %q", now.Edits, now.Text, want.Text)
		}
	default:
		if now.Edits != 0 || len(after) != len(before)+presses {
			t.Fatalf("%d messages after %d presses, the first edited %d times", len(after), presses, now.Edits)
		}
		for _, m := range after[len(before):] {
			if m.ReplyTo != card.ID || m.Text != want.Text || !bytes.Equal(m.Photo, want.picture) || m.Silent != (where.Type != "private") {
				t.Errorf("beside it stands %+v, want %q", m, want.Text)
			}
		}
	}
	for _, seen := range r.api.SeenByOthers(anns) {
		if seen.Chat != 0 && strings.Contains(line, "mylogins") && (strings.Contains(seen.Text, "Dapp") || strings.Contains(seen.Text, "mylogins ")) {
			t.Errorf("others see %q", seen.Text)
		}
	}
	return button.Text, true
}

// Whatever a forged button asks for, nothing private is shown to others, and what
// is wrong is told to the presser alone.
func TestAForgedButtonGainsNothing(t *testing.T) {
	const secrets = "Dapp did: registered Registered yours Stake"
	for data, tt := range map[string]struct {
		private bool
		told    string
	}{
		"1 e 0 mylogins":                          {true, said(answeredPrivately)},
		"1 n 0 mylogins 2":                        {true, said(answeredPrivately)},
		"1 e 0 exists":                            {true, said(answeredPrivately)},
		"1 e 0 exists 12345":                      {true, said(answeredPrivately)},
		"1 e 0 exists Telegram 12345":             {true, said(answeredPrivately)},
		"1 n 0 verify " + commandstest.AnnsWallet: {true, said(answeredPrivately)},
		"1 a 0 verify wallet":                     {true, said(answeredPrivately)},
		"1 a 0 staked wallet":                     {false, "Which wallet?"},
		"1 e 0 staked 0x1":                        {false, "⚠️ Check the wallet address"},
		"1 e 0 staked":                            {false, "Which wallet?"},
		"1 e 0 price 1 2 3":                       {false, "⚠️ Check what you typed"},
		"1 e 0 moon":                              {false, "⚠️ Unknown command"},
		"1 e zzzzzzzz price":                      {false, "Already up to date"},
		"2 e 0 price":                             {false, "⚠️ This button is too old"},
		"0 price":                                 {false, "⚠️ This button is too old"},
		"":                                        {false, "⚠️ This button is too old"},
		"1":                                       {false, "⚠️ This button is too old"},
		"1 x 0 price":                             {false, "⚠️ This button is too old"},
		strings.Repeat("\x00", 64):                {false, "⚠️ This button is too old"},
		strings.Repeat("😀", 16):                   {false, "⚠️ This button is too old"},
		"1 e 0 " + strings.Repeat("9", 64-len("1 e 0 ")): {false, "⚠️ Unknown command"},
	} {
		t.Run(strconv.Quote(data), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, _, router := product(t, nil)
				r.serve(router)
				for _, user := range []int64{anns, bobs, 404} {
					r.api.Start(user)
				}
				r.api.Push(telegramtest.Text(telegramtest.Group(communitys), telegramtest.Person(anns), "/price"))
				synctest.Wait()
				card := r.api.Sent()[0]
				for _, user := range []int64{anns, bobs, 404} {
					r.api.Press(user, telegramtest.Group(communitys), card.ID, data)
				}
				synctest.Wait()
				for _, n := range r.told(3) {
					if !strings.HasPrefix(n.Text, tt.told) {
						t.Errorf("told %q, want %q", n.Text, tt.told)
					}
				}
				perUser := perChat(r.api.Sent())
				for _, user := range []int64{anns, bobs, 404} {
					if got := perUser[user]; got == 1 != tt.private {
						t.Errorf("%d private messages to %d", got, user)
					}
					for _, seen := range r.api.SeenByOthers(user) {
						for _, secret := range strings.Fields(secrets) {
							if seen.Chat == communitys && strings.Contains(seen.Text, secret) {
								t.Errorf("everybody sees %q", seen.Text)
							}
						}
					}
				}
				if now := r.api.Sent()[0]; now.Edits != 0 || perUser[communitys] != 1 {
					t.Errorf("the group shows %+v", r.api.Sent())
				}
			})
		})
	}
}
