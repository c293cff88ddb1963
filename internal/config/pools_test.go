package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"herald/internal/core"
)

const (
	poolA = "0x52908400098527886E0F7030069857D2E4169EE7"
	poolB = "0xde709f2102306220921060314715629080e2fb77"
	poolC = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"
)

func pool(address, name string) core.Pool {
	return core.Pool{Address: common.HexToAddress(address), Name: name}
}

func TestPools(t *testing.T) {
	file := "\ufeff# the pools\r\n" + poolA + "\r\n\r\n  " + poolB + "\t Pool #3 \r\n" + poolC + " Main pool # the first\n   # end"
	for _, test := range []struct {
		what  string
		value string
		want  []core.Pool
	}{
		{"one", poolA, []core.Pool{pool(poolA, "")}},
		{"commas and white space", poolA + ", " + poolB + "\n" + poolC + ",", []core.Pool{pool(poolA, ""), pool(poolB, ""), pool(poolC, "")}},
		{"a file", "@" + write(t, file), []core.Pool{pool(poolA, ""), pool(poolB, "Pool #3"), pool(poolC, "Main pool")}},
	} {
		t.Run(test.what, func(t *testing.T) {
			got, err := pools(test.value)
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v; want %v", got, err, test.want)
			}
		})
	}
}

func TestWrongPoolsAreAllTold(t *testing.T) {
	mistyped := strings.Replace(poolC, "fB", "fb", 1)
	for _, test := range []struct {
		what  string
		value string
		want  []string
	}{
		{"in place", "0x12," + poolA + "," + mistyped + " " + strings.ToLower(poolA) + " 0x" + strings.Repeat("0", 40) + " " + poolB[2:],
			[]string{"entry 1 must be 0x", "entry 3 does not match its EIP-55", "entry 4 repeats the address of entry 2", "entry 5 is the zero address", "entry 6 must be 0x"}},
		{"in a file", "@" + write(t, "# c\n"+canary+"\n"+poolA+" "+strings.Repeat("n", 65)+"\n"+poolB+"\n"+poolB+" twice\n"+poolC+" a\x1bb"),
			[]string{"line 2 must be 0x", "line 3 has a name", "line 5 repeats the address of line 4", "line 6 has a name"}},
		{"an empty file", "@" + write(t, "# none\n"), []string{"names no pool"}},
		{"no file", "@/nonexistent/" + canary, []string{"the file named after @ cannot be opened"}},
		{"only separators", ", ,", []string{"names no pool"}},
	} {
		t.Run(test.what, func(t *testing.T) {
			_, err := Load(with("STAKING_POOLS="+test.value), "")
			mistakes := mistakesOf(t, err)
			if len(mistakes) != len(test.want) {
				t.Fatalf("want %d mistakes, got:\n%v", len(test.want), err)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(mistakes[i], "STAKING_POOLS: "+want) || strings.Contains(mistakes[i], canary) {
					t.Errorf("got %s, want %s", mistakes[i], want)
				}
			}
		})
	}
	if _, err := pools(strings.Repeat("x ", 1000)); len(each(err)) != mostMistakes+1 {
		t.Errorf("a list of rubbish is told in %d lines", len(each(err)))
	}
}
