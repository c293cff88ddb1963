//go:build speed

package speed

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"sync"
	"time"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/telegram/telegramtest"
)

// showsAtMost is how many updates one getUpdates answers, which are also all
// that can be seen before some are acknowledged.
// https://core.telegram.org/bots/api#getupdates
const showsAtMost = 100

// deliversAtMost is how many webhook deliveries Telegram makes at a time.
// https://core.telegram.org/bots/api#setwebhook
const deliversAtMost = 100

// telegram is a Bot API server. It keeps an update until a getUpdates with a
// higher offset, or delivers it if it has a webhook.
type telegram struct {
	server
	webhook bool

	mu     sync.Mutex
	queue  []update      // not acknowledged, the oldest first
	queued chan struct{} // holds a token if an update was queued since the last look
}

type update struct {
	id  int64
	raw []byte
}

func newTelegram(webhook bool) (*telegram, error) {
	t := &telegram{webhook: webhook, queued: make(chan struct{}, 1)}
	return t, t.listen(http.HandlerFunc(t.serve))
}

func (t *telegram) settings() []string {
	fake := &telegramtest.Server{URL: t.url}
	if t.webhook {
		return e2etest.Webhook(fake)
	}
	return e2etest.Polling(fake)
}

func (t *telegram) begin(l *load) (err error) {
	t.load.Store(l)
	if t.webhook {
		t.callers, err = dialCallers(t.address, deliversAtMost, len(l.states), func(number int64, status int, _ []byte, err error) {
			if err != nil || status != http.StatusOK {
				l.fail(fmt.Errorf("the delivery of command %d: status %d, %v", number, status, err))
			}
		})
	}
	return err
}

func (t *telegram) ask(number int64) {
	raw := fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":%d,`+
		`"from":{"id":%d,"is_bot":false,"first_name":"Ann","last_name":"Example","username":"ann_example","language_code":"en"},`+
		`"chat":{"id":%d,"title":"A group of people","username":"group_of_people","type":"supergroup"},"date":%d,`+
		`"text":"/price","entities":[{"offset":0,"length":6,"type":"bot_command"}]}}`,
		1000+number, number, 1000+number%users, chatOf(number), time.Now().Unix())
	if t.webhook {
		t.callers.due <- call{number, fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bot.example\r\nContent-Type: application/json\r\n"+
			"X-Telegram-Bot-Api-Secret-Token: %s\r\nContent-Length: %d\r\n\r\n%s", e2etest.WebhookPath, e2etest.WebhookSecret, len(raw), raw)}
		return
	}
	t.mu.Lock()
	t.queue = append(t.queue, update{1000 + number, raw})
	t.mu.Unlock()
	select {
	case t.queued <- struct{}{}:
	default:
	}
}

// chatOf is the group in which a command is asked.
func chatOf(number int64) int64 { return -1_001_000_000_000 - number%chats }

func (t *telegram) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch path.Base(r.URL.Path) {
	case "getUpdates":
		t.getUpdates(w, r, body)
	case "sendMessage":
		t.keepFirst(body)
		t.sendMessage(w, body)
	case "getMe":
		fmt.Fprintf(w, `{"ok":true,"result":{"id":%d,"is_bot":true,"first_name":"Herald","username":%q}}`, telegramtest.BotID, telegramtest.Username)
	default:
		io.WriteString(w, `{"ok":true,"result":true}`)
	}
}

func (t *telegram) getUpdates(w http.ResponseWriter, r *http.Request, body []byte) {
	offset, limit := numberOf(body, "offset"), numberOf(body, "limit")
	if limit == 0 {
		limit = showsAtMost
	}
	over := time.After(time.Duration(numberOf(body, "timeout")) * time.Second)
	for {
		if batch := t.pending(offset, min(int(limit), showsAtMost)); batch != nil {
			fmt.Fprintf(w, `{"ok":true,"result":[%s]}`, batch)
			return
		}
		select {
		case <-t.queued:
		case <-over:
			io.WriteString(w, `{"ok":true,"result":[]}`)
			return
		case <-r.Context().Done():
			return
		}
	}
}

// pending forgets the updates before offset and joins the next ones, nil if
// there are none.
func (t *telegram) pending(offset int64, most int) (batch []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.queue) > 0 && t.queue[0].id < offset {
		t.queue = t.queue[1:]
	}
	for i, u := range t.queue[:min(most, len(t.queue))] {
		if i > 0 {
			batch = append(batch, ',')
		}
		batch = append(batch, u.raw...)
	}
	return batch
}

// sendMessage takes an answer, which is a reply to its command.
func (t *telegram) sendMessage(w http.ResponseWriter, body []byte) {
	number, chat := numberOf(body, "message_id"), numberOf(body, "chat_id")
	t.load.Load().answer(number, judge(body, chat == chatOf(number)))
	fmt.Fprintf(w, `{"ok":true,"result":{"message_id":%d,"from":{"id":%d,"is_bot":true,"first_name":"Herald","username":%q},`+
		`"chat":{"id":%d,"title":"A group of people","username":"group_of_people","type":"supergroup"},"date":%d,`+
		`"reply_to_message":{"message_id":%d,"from":{"id":%d,"is_bot":false,"first_name":"Ann","last_name":"Example","username":"ann_example","language_code":"en"},`+
		`"chat":{"id":%d,"title":"A group of people","username":"group_of_people","type":"supergroup"},"date":%d,`+
		`"text":"/price","entities":[{"offset":0,"length":6,"type":"bot_command"}]},`+
		`"text":"Price of one token\n\nPrice: $0.04\nMarket cap: $41,726,400\nUpdated: 2026-01-01 00:00 UTC","entities":[{"offset":0,"length":18,"type":"bold"}]}}`,
		1_000_000_000+number, telegramtest.BotID, telegramtest.Username, chat, time.Now().Unix(), number, 1000+number%users, chat, time.Now().Unix())
}
