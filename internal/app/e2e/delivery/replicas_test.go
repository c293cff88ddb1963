package delivery

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/app/e2e/e2etest"
	"herald/internal/telegram/telegramtest"
)

// TestReplicasShareWhatIsAnsweredAskedAndCounted runs two whole bots on one
// Redis and delivers to both.
func TestReplicasShareWhatIsAnsweredAskedAndCounted(t *testing.T) {
	redis := miniredis.RunT(t)
	world := e2etest.Sandbox(t)
	fake := telegramtest.New(t)
	settings := slices.Concat(e2etest.Webhook(fake), e2etest.OnRedis(redis), []string{"RATE_LIMIT_USER=3"})
	replicas := []string{e2etest.ServeReady(t, world, settings...).URL, e2etest.ServeReady(t, world, settings...).URL}

	user := e2etest.TelegramID(world.World.Registered)
	deliver := func(url string, update []byte) {
		for status := 0; status != http.StatusOK; {
			var err error
			status, err = fake.Deliver(t.Context(), url+e2etest.WebhookPath, update)
			if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
				t.Errorf("delivery: %d, %v", status, err)
				return
			}
		}
	}
	var delivering sync.WaitGroup
	for range 3 {
		update := fake.Update(telegramtest.Text(telegramtest.Group(e2etest.GroupID), telegramtest.Person(user), "/price"))
		for _, url := range replicas {
			delivering.Go(func() { deliver(url, update) })
		}
	}
	delivering.Wait()
	sent := fake.Sent()
	if len(sent) != 3 {
		t.Errorf("3 commands, each delivered to both replicas, were answered %d times", len(sent))
	}
	for _, s := range sent {
		if !strings.Contains(s.Text, e2etest.Price) {
			t.Errorf("answered %q", s.Text)
		}
	}
	before := world.Price.Requests()
	if before > 2 {
		t.Errorf("two replicas asked for the price %d times", before)
	}

	deliver(replicas[1], fake.Update(telegramtest.Text(telegramtest.Group(e2etest.GroupID), telegramtest.Person(user), "/price")))
	if got := fake.WaitSent(4, e2etest.Patience); len(got) != 4 || !strings.Contains(got[3].Text, "Too many commands") {
		t.Errorf("the fourth command of three a minute is answered with %+v", got)
	}
	for _, key := range redis.Keys() {
		if strings.Contains(key, strconv.FormatInt(user, 10)) || strings.Contains(key, strconv.Itoa(e2etest.GroupID)) {
			t.Errorf("a user or a chat is named in Redis: %s", key)
		}
	}
}
