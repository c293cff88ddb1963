package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

const members = "members/telegram-7000000001"

// shared is one Bucket, opened by two replicas, or twice by one process.
type shared struct{ one, two Bucket }

// buckets returns a Bucket of each kind by the name of its kind.
func buckets(t *testing.T) map[string]shared {
	t.Helper()
	memory := NewMemory()
	folder, _ := newFolder(t, t.TempDir())
	s := server(t)
	one, two := replica(t, s), replica(t, s)
	return map[string]shared{
		"Memory": {memory.Bucket(members), memory.Bucket(members)},
		"Folder": {folder.Bucket(members), folder.Bucket(members)},
		"Redis":  {one.Bucket(members), two.Bucket(members)},
	}
}

// allValues returns the values that Each passes, in order.
func allValues(t *testing.T, b Bucket) []string {
	t.Helper()
	var values []string
	err := b.Each(t.Context(), func(value []byte) { values = append(values, string(value)) })
	if err != nil {
		t.Error(err)
	}
	slices.Sort(values)
	return values
}

// wantValue fails the test unless a Bucket has this value. If want is "", the Bucket must not have one.
func wantValue(t *testing.T, what string, b Bucket, key, want string) {
	t.Helper()
	value, err := b.Load(t.Context(), key)
	if string(value) != want || (value == nil) != (want == "") || err != nil {
		t.Errorf("%s: %q, %v, want %q", what, value, err, want)
	}
}

// put saves a value under a key that has none.
func put(t *testing.T, b Bucket, key, value string) {
	t.Helper()
	replaced, err := b.Replace(t.Context(), key, nil, []byte(value))
	if !replaced || err != nil {
		t.Fatal(replaced, err)
	}
}

func TestReplaceChangesOnlyTheValueThatTheCallerKnows(t *testing.T) {
	for name, b := range buckets(t) {
		for i, step := range []struct {
			by    Bucket
			old   string
			value string
			want  bool   // what Replace reports
			saved string // the value afterwards
		}{
			{by: b.one, old: "x", value: "a", want: false, saved: ""},
			{by: b.one, old: "", value: "a", want: true, saved: "a"},
			{by: b.two, old: "", value: "b", want: false, saved: "a"},
			{by: b.two, old: "a", value: "b", want: true, saved: "b"},
			{by: b.one, old: "a", value: "", want: false, saved: "b"},
			{by: b.one, old: "b", value: "", want: true, saved: ""},
			{by: b.two, old: "", value: "", want: true, saved: ""},
			{by: b.two, old: "", value: "c\x00\xff", want: true, saved: "c\x00\xff"},
		} {
			what := fmt.Sprintf("%s, step %d", name, i)
			replaced, err := step.by.Replace(t.Context(), "7", []byte(step.old), []byte(step.value))
			if replaced != step.want || err != nil {
				t.Errorf("%s: %t, %v", what, replaced, err)
			}
			wantValue(t, what, b.one, "7", step.saved)
		}
	}
}

func TestOneOfManyReplacesAValue(t *testing.T) {
	for name, b := range buckets(t) {
		put(t, b.one, "7", "old")
		var succeeded atomic.Int32
		var calls sync.WaitGroup
		for i := range 20 {
			calls.Go(func() {
				by := []Bucket{b.one, b.two}[i%2]
				replaced, err := by.Replace(context.Background(), "7", []byte("old"), fmt.Append(nil, i))
				if replaced && err == nil {
					succeeded.Add(1)
				}
			})
		}
		calls.Wait()
		if succeeded.Load() != 1 {
			t.Errorf("%s: %d of 20 simultaneous calls succeeded, want 1", name, succeeded.Load())
		}
	}
}

func TestEachPassesEveryValueOnce(t *testing.T) {
	for name, b := range buckets(t) {
		if left := allValues(t, b.one); len(left) > 0 {
			t.Errorf("%s: an empty bucket has %q", name, left)
		}
		n := 60
		if name == "Redis" {
			n = 2*pageSize + 200
		}
		var want []string
		for i := range n {
			want = append(want, fmt.Sprintf("value %04d", i))
			put(t, b.one, fmt.Sprint(i), want[i])
		}
		got := allValues(t, b.two)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d values, want %d", name, len(got), len(want))
		}
	}
}

func TestEachEndsWithItsContext(t *testing.T) {
	for name, b := range buckets(t) {
		put(t, b.one, "7", "a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := b.one.Each(ctx, func([]byte) { t.Errorf("%s: f is called", name) })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEachMayUseTheBucket(t *testing.T) {
	for name, b := range buckets(t) {
		put(t, b.one, "7", "a")
		put(t, b.one, "8", "b")
		err := b.one.Each(t.Context(), func(value []byte) {
			for _, key := range []string{"7", "8"} {
				_, _ = b.one.Replace(t.Context(), key, value, nil)
			}
		})
		if left := allValues(t, b.two); err != nil || len(left) > 0 {
			t.Errorf("%s: %v; left are %q", name, err, left)
		}
	}
}

func TestBucketsAreSeparate(t *testing.T) {
	memory := NewMemory()
	folder, _ := newFolder(t, t.TempDir())
	for name, open := range map[string]func(string) Bucket{
		"Memory": memory.Bucket,
		"Folder": folder.Bucket,
		"Redis":  replica(t, server(t)).Bucket,
	} {
		put(t, open("members/telegram-1"), "7", "a")
		put(t, open("members/discord-1"), "7", "b")
		wantValue(t, name, open("members/telegram-1"), "7", "a")
		wantValue(t, name, open("members/telegram-2"), "7", "")
		if got := allValues(t, open("members/discord-1")); !slices.Equal(got, []string{"b"}) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Load would not return such a value.
func TestAValueThatIsTooLargeIsRefused(t *testing.T) {
	for name, b := range buckets(t) {
		if name == "Memory" {
			continue
		}
		put(t, b.one, "as large as possible", string(make([]byte, maxValue)))
		replaced, err := b.one.Replace(t.Context(), "too large", nil, make([]byte, maxValue+1))
		if replaced || !errors.Is(err, errTooLarge) {
			t.Errorf("%s: %t, %v", name, replaced, err)
		}
		value, err := b.two.Load(t.Context(), "as large as possible")
		if len(value) != maxValue || err != nil {
			t.Errorf("%s: %d bytes, %v", name, len(value), err)
		}
	}
}

// wantUnreadable fails the test unless Load, Replace and Each report the value of key as unreadable, and Each passes
// the other values.
func wantUnreadable(t *testing.T, what string, b Bucket, key string, others ...string) {
	t.Helper()
	_, err := b.Load(t.Context(), key)
	var unreadable *UnreadableError
	if !errors.As(err, &unreadable) || unreadable.Values != 1 {
		t.Errorf("%s: Load returns %v", what, err)
	}
	replaced, err := b.Replace(t.Context(), key, nil, []byte("new"))
	if replaced {
		t.Errorf("%s: it is replaced, %v", what, err)
	}
	var values []string
	err = b.Each(t.Context(), func(value []byte) { values = append(values, string(bytes.Clone(value))) })
	if !errors.As(err, &unreadable) || unreadable.Values != 1 || !slices.Equal(values, others) {
		t.Errorf("%s: Each passes %q and returns %v", what, values, err)
	}
}

func BenchmarkEach(b *testing.B) {
	folder := NewFolder(b.TempDir(), nil)
	bucket := folder.Bucket(members)
	fillBucket(b, bucket)
	for b.Loop() {
		n := 0
		err := bucket.Each(b.Context(), func([]byte) { n++ })
		if err != nil || n != benchmarkRows {
			b.Fatal(n, err)
		}
	}
}

const benchmarkRows = 100_000

// fillBucket saves benchmarkRows values of 350 bytes.
func fillBucket(b *testing.B, bucket Bucket) {
	b.Helper()
	value := bytes.Repeat([]byte("x"), 350)
	for i := range benchmarkRows {
		_, err := bucket.Replace(b.Context(), fmt.Sprint(i), nil, value)
		if err != nil {
			b.Fatal(err)
		}
	}
}
