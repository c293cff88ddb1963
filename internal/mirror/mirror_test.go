package mirror

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"herald/internal/mirror/mirrortest"
	"herald/internal/query"
	"herald/internal/secret/logtest"
)

const key = "letters of a test"

// letters is a Value: a set of letters, stored in alphabetical order.
type letters struct {
	mu  sync.Mutex
	set map[string]bool
}

func (l *letters) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, letter := range text {
		l.set[string(letter)] = true
	}
}

func (l *letters) Merge(stored []byte) error {
	if strings.Contains(string(stored), "?") {
		return errors.New("not letters")
	}
	l.add(string(stored))
	return nil
}

func (l *letters) Encode() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.set) == 0 {
		return nil
	}
	return []byte(strings.Join(slices.Sorted(maps.Keys(l.set)), ""))
}

// process is a Mirror of letters.
type process struct {
	*Mirror
	letters *letters
	log     *logtest.Buffer
}

func start(stores ...query.Store) process {
	l := &letters{set: map[string]bool{}}
	log := new(logtest.Buffer)
	return process{New("letters", key, time.Hour, l, stores, log.Logger()), l, log}
}

// add adds letters, and exchanges the value with the stores.
func (p process) add(text string) {
	p.letters.add(text)
	p.Sync()
}

// want fails the test unless the process has these letters.
func (p process) want(t *testing.T, letters string) {
	t.Helper()
	if got := string(p.letters.Encode()); got != letters {
		t.Errorf("got %q, want %q", got, letters)
	}
}

func TestReplicasAndRestartsShareAValue(t *testing.T) {
	store := new(mirrortest.Store)
	one := start(store)
	two := start(store)
	one.add("a")
	two.add("b")
	one.add("c")
	one.want(t, "abc")
	two.want(t, "ab")
	restarted := start(store)
	restarted.Load()
	restarted.want(t, "abc")
	if n, ttl := store.Saves(); n != 3 || ttl != time.Hour {
		t.Errorf("saved %d times, for %v", n, ttl)
	}
}

func TestEachStoreGetsWhatTheOthersHave(t *testing.T) {
	one := mirrortest.With(key, "a")
	two := mirrortest.With(key, "b")
	both := start(one, two)
	both.Load()
	both.want(t, "ab")
	two.Clear()
	both.Close()
	if one.Value(key) != "ab" || two.Value(key) != "ab" {
		t.Errorf("saved %q and %q", one.Value(key), two.Value(key))
	}
}

// A Mirror reads a store twice, if the first reading fails.
func TestAStoreThatIsUnavailableIsNotOverwritten(t *testing.T) {
	for fails := range 6 {
		store := mirrortest.With(key, "a")
		store.Fail(fails)
		p := start(store)
		p.add("b")
		want := "ab"
		if fails >= 2 {
			want = "a"
		}
		if got := store.Value(key); got != want {
			t.Errorf("after %d failures: %q is saved, want %q", fails, got, want)
		}
		p.add("c")
		p.Close()
		if got := store.Value(key); got != "abc" {
			t.Errorf("after %d failures, and Close: %q is saved", fails, got)
		}
	}
}

func TestAMirrorIsLoadedOnceEveryStoreWasRead(t *testing.T) {
	one := new(mirrortest.Store)
	two := new(mirrortest.Store)
	two.Fail(2)
	p := start(one, two)
	if p.IsLoaded() {
		t.Error("loaded before anything was read")
	}
	p.Load()
	if p.IsLoaded() {
		t.Error("loaded, although a store could not be read")
	}
	p.Sync()
	if !p.IsLoaded() {
		t.Error("not loaded, although all stores were read")
	}
	if !start().IsLoaded() {
		t.Error("without stores, there is nothing to load")
	}
}

func TestSyncDoesNotWaitForASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &mirrortest.Store{Delay: time.Minute}
		p := start(store)
		begun := time.Now()
		p.add("a")
		if took := time.Since(begun); took != maxWait {
			t.Errorf("it took %v", took)
		}
		p.Close()
		if store.Value(key) != "a" {
			t.Error("Close did not wait until the value is saved")
		}
	})
}

func TestADamagedCopyIsLoggedOnceAndOverwritten(t *testing.T) {
	store := mirrortest.With(key, "?")
	p := start(store)
	p.add("a")
	p.add("b")
	if p.log.Lines("cannot be read") != 1 || store.Value(key) != "ab" {
		t.Errorf("%q is saved; logged %s", store.Value(key), p.log)
	}
}
