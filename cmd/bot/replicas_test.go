package main

import (
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"herald/internal/telegram/telegramtest"
)

// TestReplicasShareWhatIsAnsweredAskedAndCounted runs two whole bots on one
// Redis and delivers to both.
func TestReplicasShareWhatIsAnsweredAskedAndCounted(t *testing.T) {
	redis := miniredis.RunT(t)
	world := startSandbox(t)
	fake := telegramtest.New(t)
	settings := []string{
		"REDIS_URL=redis://" + redis.Addr(), "RATE_LIMIT_USER=3",
		"TELEGRAM_BOT_TOKEN=" + telegramtest.Token, "TELEGRAM_API_URL=" + fake.URL, "TELEGRAM_PACING=off",
		"TELEGRAM_WEBHOOK_URL=https://bot.example/telegram", "TELEGRAM_WEBHOOK_SECRET=s3cret",
	}
	replicas := []string{startBot(t, world, settings...), startBot(t, world, settings...)}

	user, err := strconv.ParseInt(world.World.Registered.UID("Telegram"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	deliver := func(url string, update []byte) {
		for status := 0; status != http.StatusOK; {
			var err error
			status, err = fake.Deliver(t.Context(), url+"/telegram", update)
			if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
				t.Errorf("delivery: %d, %v", status, err)
				return
			}
		}
	}
	var delivering sync.WaitGroup
	for range 3 {
		update := fake.Update(telegramtest.Text(telegramtest.Group(groupID), telegramtest.Person(user), "/price"))
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
		if !strings.Contains(s.Text, "$0.0417264") {
			t.Errorf("answered %q", s.Text)
		}
	}
	before := world.Price.Requests()
	if before > 2 {
		t.Errorf("two replicas asked for the price %d times", before)
	}

	deliver(replicas[1], fake.Update(telegramtest.Text(telegramtest.Group(groupID), telegramtest.Person(user), "/price")))
	if got := fake.WaitSent(4, patience); len(got) != 4 || !strings.Contains(got[3].Text, "Too many commands") {
		t.Errorf("the fourth command of three a minute is answered with %+v", got)
	}
	for _, key := range redis.Keys() {
		if strings.Contains(key, strconv.FormatInt(user, 10)) || strings.Contains(key, strconv.Itoa(groupID)) {
			t.Errorf("a user or a chat is named in Redis: %s", key)
		}
	}
}
