package staking

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// go-ethereum's package rlp makes the program a third larger: its type typekey embeds reflect.Type, so the linker keeps
// every method of every type. So Herald does not import packages that import rlp. If this test fails, Herald may be
// able to import them.
func TestGoEthereumStillImportsRLP(t *testing.T) {
	const ethereum = "github.com/ethereum/go-ethereum/"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", "{{.Dir}} {{.Deps}} ",
		ethereum+"rlp", ethereum+"ethclient", ethereum+"accounts/abi", ethereum+"crypto").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		dir, deps, _ := strings.Cut(line, " ")
		if filepath.Base(dir) == "rlp" {
			source, err := os.ReadFile(filepath.Join(dir, "typecache.go"))
			if !strings.Contains(string(source), "type typekey struct {\n\treflect.Type\n") {
				t.Errorf("%s embeds no reflect.Type now, %v: see how large the program is with it", dir, err)
			}
		} else if !strings.Contains(deps, " "+ethereum+"rlp ") {
			t.Errorf("%s is free of rlp now: see how large the program is with it", dir)
		}
	}
}
