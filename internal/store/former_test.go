package store

import (
	"errors"
	"path/filepath"
	"testing"
)

// What the version of commit b7a8be84 wrote: addresses under the keys "members 5" and "members 6", and an answer under
// "quotes token".
const (
	formerFile        = "98e86195505d806eb47df7ce9b939676.kept.json"
	formerFileContent = `{"Value":"eyJ2ZXJzaW9uIjoxfQ=="}`
	formerValue       = `{"version":1}`
	formerDamaged     = "d8a07d4504b00628a0196306b043bb52.kept.json"
	formerRedisKey    = "herald:members:f71cbf376202a7f72da874fdc3cac163"
	formerAnswerFile  = "2ba30b5c14bcf9c63fd149b9115f4cb0.kept.json"
	formerAnswerKey   = "herald:answer:1334132f9e84f6b00d3c10920051f715"
)

func TestFormerAddressesInAFolder(t *testing.T) {
	f, _ := newFolder(t, t.TempDir())
	path := filepath.Join(f.dir, formerFile)
	writeFile(t, path, formerFileContent)
	former := f.Former()
	wantFormer(t, former)

	replaced, err := former.Replace(t.Context(), "members 5", []byte(formerValue), []byte("1"))
	if !replaced || err != nil {
		t.Fatal(replaced, err)
	}
	wantContent(t, path, `{"Value":"MQ=="}`)
	replaced, err = former.Replace(t.Context(), "members 5", []byte("1"), nil)
	if left, _ := filepath.Glob(filepath.Join(f.dir, "*")); !replaced || err != nil || len(left) > 0 {
		t.Errorf("%t, %v; left are %q", replaced, err, left)
	}
}

func TestFormerAddressesInRedis(t *testing.T) {
	s := server(t)
	if err := s.Set(formerRedisKey, formerValue); err != nil {
		t.Fatal(err)
	}
	former := replica(t, s).Former()
	wantFormer(t, former)

	replaced, err := former.Replace(t.Context(), "members 5", []byte(formerValue), []byte("1"))
	if saved, _ := s.Get(formerRedisKey); !replaced || err != nil || saved != "1" || s.TTL(formerRedisKey) != 0 {
		t.Fatal(replaced, err, saved)
	}
	replaced, err = former.Replace(t.Context(), "members 5", []byte("1"), nil)
	if !replaced || err != nil || len(s.Keys()) > 0 {
		t.Errorf("%t, %v; left are %q", replaced, err, s.Keys())
	}
}

// wantFormer checks that former has formerValue under "members 5", and no other.
func wantFormer(t *testing.T, former Bucket) {
	t.Helper()
	wantValue(t, "former", former, "members 5", formerValue)
	wantValue(t, "another key", former, "members 511", "")
	replaced, err := former.Replace(t.Context(), "members 5", []byte("another"), nil)
	if replaced || err != nil {
		t.Errorf("another value is replaced: %t, %v", replaced, err)
	}
	err = former.Each(t.Context(), func([]byte) {})
	if !errors.Is(err, errNotListed) {
		t.Errorf("Each returns %v", err)
	}
}

func TestADamagedFormerValueStays(t *testing.T) {
	f, _ := newFolder(t, t.TempDir())
	path := filepath.Join(f.dir, formerDamaged)
	writeFile(t, path, `{"Value":`)
	var unreadable *UnreadableError
	_, err := f.Former().Load(t.Context(), "members 6")
	if !errors.As(err, &unreadable) {
		t.Errorf("Load returns %v", err)
	}
	replaced, err := f.Former().Replace(t.Context(), "members 6", nil, []byte("1"))
	if replaced || !errors.As(err, &unreadable) {
		t.Errorf("Replace returns %t, %v", replaced, err)
	}
	wantContent(t, path, `{"Value":`)
}

// So a chart keeps its history when the bot is upgraded.
func TestFormerAnswersAreRead(t *testing.T) {
	f, _ := newFolder(t, t.TempDir())
	writeFile(t, filepath.Join(f.dir, formerAnswerFile), formerFileContent)
	wantAnswer(t, f, "quotes token", formerValue)

	s := server(t)
	if err := s.Set(formerAnswerKey, formerValue); err != nil {
		t.Fatal(err)
	}
	r := replica(t, s)
	value, err := r.Load(t.Context(), "quotes token")
	if string(value) != formerValue || err != nil {
		t.Errorf("loaded %q, %v", value, err)
	}
}
