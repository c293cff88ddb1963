package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/demo/fake/services"
	faketelegram "herald/internal/demo/fake/telegram"
	"herald/internal/e2e/e2etest"
	"herald/internal/e2e/fault"
)

// members and stakers are groups that people ask to join.
var (
	members = faketelegram.Chat{ID: -1005, Type: "supergroup", Title: "MAT Holders"}
	stakers = faketelegram.Chat{ID: -1006, Type: "supergroup", Title: "MAT Stakers"}
)

// operator may ask for the counts of the door.
const operator = 7_999

// door is a platform and services before a bot that answers join requests.
type door struct {
	*testing.T
	fakes    *fault.Fakes
	platform *e2etest.Platform
}

func newDoor(t *testing.T, way e2etest.Way) *door {
	t.Helper()
	d := &door{T: t, fakes: fault.Start(t), platform: way.Open(t)}
	for _, group := range []faketelegram.Chat{members, stakers} {
		d.platform.Telegram.GrantInvite(group.ID, true)
		d.platform.Telegram.SetChat(faketelegram.ChatInfo{Chat: group, JoinByRequest: true})
	}
	return d
}

// settings returns those that open the door, and more.
func (d *door) settings(more ...string) []string {
	return append(more, fmt.Sprintf("JOIN_CHATS=telegram:%d:registered,telegram:%d:staker", members.ID, stakers.ID),
		fmt.Sprint("OPERATORS=telegram:", operator))
}

// knock has a person ask to join a group; Telegram delivers that so many times.
func (d *door) knock(p services.Person, group faketelegram.Chat, guarded bool, times int) {
	user := e2etest.TelegramID(p)
	d.platform.Deliver(user, times, func() { d.platform.Telegram.RequestJoin(group, faketelegram.Person(user), guarded) })
}

// await waits until every request has its answer, in the order of the requests, and fails
// unless it has that one alone.
func (d *door) await(want string) {
	d.Helper()
	e2etest.Eventually(d, "answers "+want, func() bool {
		var states []string
		for _, j := range d.platform.Telegram.JoinRequests() {
			if len(j.Answers) > 1 {
				d.Fatalf("answered with %v", j.Answers)
			}
			states = append(states, string(j.State))
		}
		return strings.Join(states, " ") == want
	})
}

// told waits until a person is told a text in private, and returns the message.
func (d *door) told(p services.Person, text string) (told faketelegram.Sent) {
	d.Helper()
	e2etest.Eventually(d, text, func() bool {
		for _, m := range d.platform.Telegram.Sent() {
			if m.Chat != e2etest.TelegramID(p) {
				continue
			}
			if told = m; strings.Contains(m.Text, text) {
				return true
			}
		}
		return false
	})
	return told
}

// People are let in or told why not, by polling and by webhook, and the metrics count
// that.
func TestTheDoorLetsPeopleIn(t *testing.T) {
	t.Parallel()
	for _, way := range e2etest.Ways[:2] {
		t.Run(way.Name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, way)
			w, bot := d.fakes.World, d.platform.Serve(d.fakes, d.settings()...)
			d.knock(w.Newcomer, members, true, 1)
			d.told(w.Newcomer, "You're in: MAT Holders")
			d.knock(w.Unregistered, members, false, 1)
			d.told(w.Unregistered, "you're not registered yet")
			d.knock(w.Registered, stakers, false, 1)
			question := d.told(w.Registered, "MAT Stakers: two things")
			user := e2etest.TelegramID(w.Registered)
			d.platform.Deliver(user, 1, func() {
				d.platform.Telegram.Push(faketelegram.Text(faketelegram.Private(user), faketelegram.Person(user), w.Staker.Hex()).ReplyingTo(question))
			})
			d.told(w.Registered, "You're in: MAT Stakers")
			d.await("approved open approved")
			page := e2etest.Metrics(t, bot.URL)
			for _, counted := range []string{`{event="join_approved",platform="telegram"} 2`, `{event="join_left_open",platform="telegram"} 2`} {
				if !strings.Contains(page, "herald_adapter_events_total"+counted) {
					t.Errorf("the metrics lack %s", counted)
				}
			}
		})
	}
}

// The bot stops or is killed while the partner takes its time, and the next one answers. By
// webhook SIGKILL loses what was acknowledged.
func TestARestartAnswersAJoinRequestOnce(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]e2etest.Way{"polling, SIGTERM": e2etest.Ways[0], "polling, SIGKILL": e2etest.Ways[0], "webhook, SIGTERM": e2etest.Ways[1]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor(t, way)
			d.fakes.Partner.SetFault(fault.Late(time.Second))
			settings := d.settings(e2etest.OnRedis(miniredis.RunT(t))...)
			first := d.platform.Start(binary(t), d.fakes, settings...)
			d.knock(d.fakes.World.Newcomer, members, false, 2)
			e2etest.Eventually(t, "the partner is asked", func() bool { return d.fakes.Partner.Requests() > 0 })
			if strings.HasSuffix(name, "SIGTERM") {
				first.Leave()
			} else {
				first.Kill()
			}
			d.platform.Start(binary(t), d.fakes, settings...)
			if d.await("approved"); !d.platform.Telegram.WaitAcknowledged(e2etest.Patience) {
				t.Error("the request is not acknowledged")
			}
		})
	}
}

// Both replicas get each delivery at the same moment.
func TestTwoReplicasAnswerAJoinRequestOnce(t *testing.T) {
	t.Parallel()
	d := newDoor(t, e2etest.Ways[1])
	settings := d.settings(e2etest.OnRedis(miniredis.RunT(t))...)
	urls := []string{d.platform.Serve(d.fakes, settings...).URL, d.platform.Serve(d.fakes, settings...).URL}
	w, telegram := d.fakes.World, d.platform.Telegram
	for i, p := range []services.Person{w.Newcomer, w.Registered, w.Unregistered} {
		telegram.RequestJoin(members, faketelegram.Person(e2etest.TelegramID(p)), i > 0)
	}
	var delivering sync.WaitGroup
	for _, body := range telegram.Dequeue() {
		for _, url := range urls {
			delivering.Go(func() {
				for status := 0; status != http.StatusOK && t.Context().Err() == nil; {
					status, _ = telegram.Deliver(t.Context(), url+e2etest.WebhookPath, body)
				}
			})
		}
	}
	delivering.Wait()
	d.told(w.Newcomer, "You're in")
	d.told(w.Registered, "You're in")
	d.told(w.Unregistered, "you're not registered yet")
	if d.await("approved approved open"); len(telegram.Sent()) != 3 {
		t.Errorf("%d messages, want one to each person", len(telegram.Sent()))
	}
}
