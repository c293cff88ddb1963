package resttest

import (
	"os"
	"regexp"
	"testing"
)

// example matches a fenced block of a document. It captures the label in its first line, "price-v1" in "```json
// price-v1", and the lines in the block.
var example = regexp.MustCompile("(?ms)^```[a-z]+ ?([a-z0-9-]*)\n(.*?)\n```$")

// Examples returns the fenced blocks of the document at path, by their labels. It ends the test if a block has no
// label, or if two blocks have the same label.
func Examples(t *testing.T, path string) map[string]string {
	t.Helper()
	document, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	examples := map[string]string{}
	for _, found := range example.FindAllSubmatch(document, -1) {
		label := string(found[1])
		if label == "" || examples[label] != "" {
			t.Fatalf("%s: the label %q is missing or repeated", path, label)
		}
		examples[label] = string(found[2])
	}
	return examples
}
