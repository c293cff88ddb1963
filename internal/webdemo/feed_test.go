package webdemo

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"herald/internal/discord/discordtest"
	"herald/internal/sandbox"
)

func newFeed() *feed { return &feed{readers: map[chan Event]bool{}} }

// One who does not read loses the stream, and costs the others nothing.
func TestAReaderWhoFallsBehindIsCutOff(t *testing.T) {
	f := newFeed()
	_, slow, done, _ := f.read()
	_, quick, doneToo, _ := f.read()
	defer doneToo()
	for i := range 2 * maxBehind {
		f.put(Event{Kind: KindMessage, Side: Telegram, ID: fmt.Sprint(i % 3)}, nil)
		if e := <-quick; e.ID != fmt.Sprint(i%3) {
			t.Fatalf("the quick one is told %+v", e)
		}
	}
	n := 0
	for range slow {
		n++
	}
	if n != maxBehind {
		t.Errorf("%d events waited, want %d", n, maxBehind)
	}
	done()
	if so, _, again, ok := f.read(); !ok || len(so) != 3 {
		t.Errorf("who comes again is shown %v", so)
	} else {
		again()
	}
	if len(f.readers) != 1 {
		t.Errorf("%d readers are left", len(f.readers))
	}
}

// An event takes the place of the one with its ID on its own side alone, and a
// changed message answers what it answered before.
func TestAnEventTakesItsPlace(t *testing.T) {
	f := newFeed()
	for _, e := range []Event{
		{Kind: KindThinking, Side: Discord, ID: "1", ReplyTo: "9"}, {Kind: KindMessage, Side: Telegram, ID: "1"},
		{Kind: KindMessage, Side: Discord, ID: "2"}, {Kind: KindMessage, Side: Discord, ID: "1"},
	} {
		f.put(e, nil)
	}
	so, _, done, _ := f.read()
	defer done()
	var got []string
	for _, e := range so {
		got = append(got, e.Kind+" "+e.Side+" "+e.ID+" "+e.ReplyTo)
	}
	if want := []string{"message discord 1 9", "message telegram 1 ", "message discord 2 "}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// mute connects to a Discord as a bot that answers nothing.
func mute(t *testing.T, d *discordtest.Server, wire *discordtest.Wire) {
	t.Helper()
	dialer := websocket.Dialer{NetDialContext: wire.Dial}
	conn, _, err := dialer.DialContext(t.Context(), "ws://discord.invalid/gateway", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		for {
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
		}
	}()
	identify := map[string]any{"op": 2, "d": map[string]any{"token": d.Token, "intents": 0, "properties": map[string]string{}}}
	if err := conn.WriteJSON(identify); err != nil {
		t.Fatal(err)
	}
	if err := d.WaitConnected(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAnInteractionThatIsNotAnsweredHasFailed(t *testing.T) {
	for _, connected := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			wire := discordtest.NewWire()
			discord := discordtest.NewOn(wire)
			defer discord.Close()
			if connected {
				mute(t, discord, wire)
			}
			f := newFeed()
			d := newDiscordSide(discord, f, newPeople(sandbox.New().World))
			member, _ := d.people.named("member")
			d.see(discordtest.Shown{Interaction: discordtest.Interaction{GuildID: discordGuild}, Message: &discordtest.Message{ID: "77"}})
			_, next, done, _ := f.read()
			defer done()
			if _, err := d.act(context.Background(), Act{Kind: "press", As: "member", Chat: Group, Message: "77", Button: "x"}, member, languages[0]); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			failed := <-next
			waited := time.Since(began)
			if failed.Kind != KindFailed || failed.ReplyTo != "77" || failed.For != "member" || connected != (waited == firstResponse) {
				t.Errorf("after %v: %+v", waited, failed)
			}
		})
	}
}
