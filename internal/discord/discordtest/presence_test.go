package discordtest

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAPresenceHasOneForm(t *testing.T) {
	right := `{"since":null,"activities":[{"name":"Custom Status","type":4,"state":"TKN $1"}],"status":"online","afk":false}`
	none := `{"since":null,"activities":[],"status":"online","afk":false}`
	for name, test := range map[string]struct {
		sent string
		ok   bool
	}{
		"right":           {right, true},
		"nothing shown":   {none, true},
		"128 characters":  {strings.Replace(right, "TKN $1", strings.Repeat("é", 128), 1), true},
		"129 characters":  {strings.Replace(right, "TKN $1", strings.Repeat("é", 129), 1), false},
		"no activities":   {`{"since":null,"status":"online","afk":false}`, false},
		"no afk":          {strings.Replace(right, `,"afk":false`, "", 1), false},
		"another status":  {strings.Replace(right, "online", "busy", 1), false},
		"no name":         {strings.Replace(right, "Custom Status", "", 1), false},
		"no state":        {strings.Replace(right, "TKN $1", "", 1), false},
		"another type":    {strings.Replace(right, `"type":4`, `"type":6`, 1), false},
		"a type of text":  {strings.Replace(right, `"type":4`, `"type":"4"`, 1), false},
		"a state of 1":    {strings.Replace(right, `"TKN $1"`, `1`, 1), false},
		"an emoji":        {strings.Replace(right, `"type":4`, `"type":4,"emoji":{}`, 1), false},
		"created as text": {strings.Replace(right, `"type":4`, `"type":4,"created_at":"0001-01-01T00:00:00Z"`, 1), false},
	} {
		var p presence
		err := json.Unmarshal([]byte(test.sent), &p)
		if err == nil {
			err = checkPresence(p)
		}
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
