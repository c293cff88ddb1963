package history

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"
)

func TestQuotesOutliveTheProcess(t *testing.T) {
	dir, points := stored(t)
	h, l := open(t, dir, source)
	if got := all(h); len(got) == 0 || !samePoints(got, points) {
		t.Errorf("%d points came back of %d", len(got), len(points))
	}
	h.Add(quote(time.Now(), "0.05"))
	h.Close()
	h, _ = open(t, dir, source)
	defer h.Close()
	if got := all(h); len(got) < len(points) || got[len(got)-1].Price.String() != "0.05" {
		t.Error("a quote after the restart is lost at the next")
	}
	if n := len(l.lines()); n != 0 {
		t.Errorf("%v", l.lines())
	}
}

func TestQuotesOfAnotherTokenAreKeptApart(t *testing.T) {
	dir, points := stored(t)
	other, _ := open(t, dir, "another")
	if got := all(other); len(got) != 0 {
		t.Errorf("%d points of another token", len(got))
	}
	other.Add(quote(time.Now(), "7"))
	other.Close()
	h, _ := open(t, dir, source)
	defer h.Close()
	if got := all(h); !samePoints(got, points) {
		t.Error("another token's quotes changed these")
	}
}

func TestTokensOfLongAgoAreForgotten(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		names := []string{"a", "b", "c", "d", "e", "f"}
		for _, name := range names {
			h, _ := open(t, dir, name)
			h.Add(quote(time.Now(), "1"))
			h.Close()
			time.Sleep(24 * time.Hour)
		}
		for _, c := range []struct {
			later time.Duration
			want  []string
		}{
			{0, []string{"d", "e", "f", source}}, // the newest few
			{Kept - 36*time.Hour, []string{"f", source}},
			{Kept, []string{source}},
		} {
			time.Sleep(c.later)
			h, _ := open(t, dir, source)
			h.Add(quote(time.Now(), "1"))
			h.Close()
			if got := sources(t, dir); !slices.Equal(got, c.want) {
				t.Errorf("after %v: the file holds %q, want %q", c.later, got, c.want)
			}
		}
	})
}

// sources are those in the file, sorted.
func sources(t *testing.T, dir string) []string {
	db, err := bbolt.Open(filepath.Join(dir, fileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var names []string
	if err := db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(name, _ []byte) error {
			names = append(names, string(name))
			return nil
		})
	}); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestDamagedFileIsSetAsideAndToldOnce(t *testing.T) {
	dir := t.TempDir()
	saved(t, dir, source, manyPoints(time.Now()), 1)
	good := content(t, dir)
	used := bytes.TrimRight(good, "\x00") // bbolt makes its files larger than it needs.
	noise := func(b []byte) []byte {
		for i := range b {
			b[i] = byte(i*i*7 + i>>8*13 + 1)
		}
		return b
	}
	for name, damaged := range map[string][]byte{
		"empty":           {},
		"one byte":        {7},
		"text":            []byte(strings.Repeat("no database\n", 10_000)),
		"zeros":           make([]byte, len(good)),
		"noise":           noise(make([]byte, len(good))),
		"half":            used[:len(used)/2],
		"a page short":    used[:(len(used)-1)/4096*4096],
		"three pages":     good[:3*4096], // The quotes alone take more.
		"meta pages only": good[:8192],
		"another price":   bytes.Replace(good, []byte("0.041731234"), []byte("0.941731234"), -1),
		"wrong magic":     append(noise(make([]byte, 8192)), good[8192:]...),
		"noise after":     append(bytes.Clone(good[:8192]), noise(make([]byte, len(good)-8192))...),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			replace(t, dir, damaged)
			h, l := open(t, dir, source)
			if got := all(h); len(got) != 0 {
				t.Errorf("%d points out of a damaged file", len(got))
			}
			h.Add(quote(time.Now(), "1"))
			h.Close()
			if lines := l.lines(); len(lines) != 1 || l.count("level=WARN") != 1 || l.count("set_aside=quotes.db.damaged-") != 1 {
				t.Errorf("log lines: %v", lines)
			}
			aside := setAside(t, dir)
			if len(aside) != 1 {
				t.Fatalf("set aside: %v", aside)
			}
			if kept, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(kept, damaged) {
				t.Errorf("what was set aside is changed (%v)", err)
			}
			again, l := open(t, dir, source)
			defer again.Close()
			if len(all(again)) != 1 || len(l.lines()) != 0 {
				t.Errorf("the new file: %d points, log %v", len(all(again)), l.lines())
			}
		})
	}
}

func TestDatabaseOfSomethingElseIsSetAside(t *testing.T) {
	dir := t.TempDir()
	db, err := bbolt.Open(filepath.Join(dir, fileName), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("sessions"))
		if err != nil {
			return err
		}
		value, err := encode([]byte(source), []Point{point(time.Now(), "1")})
		if err != nil {
			return err
		}
		return b.Put([]byte(source), value)
	}); err != nil {
		t.Fatal(err)
	}
	db.Close()
	h, l := open(t, dir, source)
	h.Close()
	if len(setAside(t, dir)) != 1 || len(l.lines()) != 1 {
		t.Errorf("log %v", l.lines())
	}
}

// TestDamageAnywhereEndsNothing damages the file in one place after another:
// either all points come back, or it is found.
func TestDamageAnywhereEndsNothing(t *testing.T) {
	// Always the same points, under a name of their own: an entry that leads out of
	// the file may find them in memory where an earlier file was mapped.
	const source = "damaged anywhere"
	points := manyPoints(time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC))[:40] // A small file, so that many bytes can be tried.
	first := t.TempDir()
	// Twice, so that both of bbolt's meta pages lead to all points.
	saved(t, first, source, points, 2)
	good := content(t, first)
	const page = 4096
	for i := range good {
		// All of what says how a page is made, and a little of the rest.
		at := i % page
		if at >= 40 && at != 1000 {
			continue
		}
		flips := []byte{0xff}
		if at < 16 { // the header
			flips = []byte{0x01, 0xff}
		}
		for _, flip := range flips {
			damaged := bytes.Clone(good)
			damaged[i] ^= flip
			replace(t, first, damaged)
			f := newFile(first, slog.New(slog.DiscardHandler))
			got, err := f.openOnce(source)
			if err != nil {
				continue
			}
			if !samePoints(got, points) {
				t.Errorf("byte %d changed by %#x: other points came back", i, flip)
			}
			// Lists of free pages are believed when something is written.
			if err := f.save(source, points); err != nil {
				t.Errorf("byte %d changed by %#x: %v", i, flip, err)
			}
			f.close()
		}
	}
}

func TestFileThatIsCutWhileOpenEndsNothing(t *testing.T) {
	dir, points := stored(t)
	h, l := open(t, dir, source)
	if err := os.Truncate(filepath.Join(dir, fileName), 0); err != nil {
		t.Fatal(err)
	}
	h.Add(quote(time.Now().Add(-5*24*time.Hour), "2")) // a time of which nothing is known
	waitFor(t, func() bool { return l.count("set_aside=") == 1 })
	h.Close()
	if got := all(h); len(got) != len(points)+1 || len(l.lines()) != 1 {
		t.Errorf("%d points, %d before; log %v", len(got), len(points), l.lines())
	}
	again, _ := open(t, dir, source)
	defer again.Close()
	if !samePoints(all(again), all(h)) {
		t.Error("the new file does not hold what memory did")
	}
}

func TestDiskThatDamagesEveryFileIsNotFilled(t *testing.T) {
	dir := t.TempDir()
	replace(t, dir, []byte("damaged"))
	h, l := open(t, dir, source)
	for range 5 {
		if err := os.Truncate(filepath.Join(dir, fileName), 0); err != nil {
			t.Fatal(err)
		}
		h.save()
	}
	if n := len(setAside(t, dir)); n != 1 || l.count("cannot write") != 1 {
		t.Errorf("%d files set aside; log %v", n, l.lines())
	}
	h.Close()
}

func TestFileThatCannotBeOpenedIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	// root may write everywhere, but not into a folder as if it was a file.
	if err := os.Mkdir(filepath.Join(dir, fileName), 0o700); err != nil {
		t.Fatal(err)
	}
	h, l := open(t, dir, source)
	now := time.Now()
	for m := 60; m > 0; m -= 5 {
		h.Add(quote(now.Add(-time.Duration(m)*time.Minute), "1"))
	}
	h.Close()
	if len(all(h)) != 12 || len(l.lines()) != 1 || l.count("level=WARN") != 1 || l.count(dir) != 0 {
		t.Errorf("%d points, log %v", len(all(h)), l.lines())
	}
}

func TestFileOfAnotherProcessIsTakenOverLater(t *testing.T) {
	dir, points := stored(t)
	synctest.Test(t, func(t *testing.T) {
		// The bubble's clock is years behind.
		time.Sleep(time.Until(points[len(points)-1].At.Add(time.Minute)))
		first, _ := open(t, dir, source)
		began := time.Now()
		second, l := open(t, dir, source)
		if waited := time.Since(began); waited > lockWait {
			t.Errorf("waited %v for the lock", waited)
		}
		if len(all(second)) != 0 || l.count("another process") != 1 {
			t.Errorf("%d points, log %v", len(all(second)), l.lines())
		}
		second.Add(quote(time.Now(), "5"))
		time.Sleep(time.Minute)
		first.Close()
		if n := len(l.lines()); n != 1 {
			t.Errorf("told %d times: %v", n, l.lines())
		}
		time.Sleep(5 * time.Minute)
		second.Add(quote(time.Now(), "6"))
		synctest.Wait()
		if got := all(second); len(got) < len(points) || l.count("is written again") != 1 || len(setAside(t, dir)) != 0 {
			t.Errorf("%d points after the other process let go, log %v", len(got), l.lines())
		}
		second.Close()
		third, _ := open(t, dir, source)
		if !samePoints(all(third), all(second)) {
			t.Error("the file does not hold what both saw")
		}
		third.Close()
	})
}

func TestAddDoesNotWaitForTheFile(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		first, _ := open(t, dir, source)
		second, _ := open(t, dir, source)
		began := time.Now()
		for range 1000 { // The writer tries for the lock, a second each time.
			second.Add(quote(time.Now(), "1"))
			second.Since(began)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		second.Close()
		first.Close()
	})
}

// TestFullDiskCostsNoQuote limits the size of files in a process of its own.
func TestFullDiskCostsNoQuote(t *testing.T) {
	const inChild = "HERALD_HISTORY_TEST_DIR"
	if dir := os.Getenv(inChild); dir != "" {
		fullDisk(t, dir)
		return
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFullDiskCostsNoQuote$", "-test.v")
	child.Env = append(os.Environ(), inChild+"="+t.TempDir())
	if out, err := child.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("as on a full disk")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func fullDisk(t *testing.T, dir string) {
	signal.Ignore(syscall.SIGXFSZ)
	h, l := open(t, dir, source)
	limit := syscall.Rlimit{}
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	small := syscall.Rlimit{Cur: uint64(len(content(t, dir))), Max: limit.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	t.Log("as on a full disk")
	now := time.Now()
	for round := range 3 {
		for m := range 300 {
			h.Add(quote(now.Add(-time.Duration(300*round+m)*5*time.Minute), "0.0417312345678901234567890123456789"))
		}
		waitFor(t, func() bool { return l.count("cannot write") > 0 })
	}
	points := len(all(h))
	if points < 390 || len(l.lines()) != 1 || l.count(dir) != 0 {
		t.Errorf("%d points, log %v", points, l.lines())
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	h.Close()
	if l.count("is written again") != 1 || len(setAside(t, dir)) != 0 {
		t.Errorf("log %v", l.lines())
	}
	again, _ := open(t, dir, source)
	defer again.Close()
	if !samePoints(all(again), all(h)) {
		t.Error("quotes seen while the disk was full are lost")
	}
}

// waitFor waits for something that another goroutine does on a real disk.
func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen within a minute")
		}
	}
}
