package discordtest

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// part is one of a multipart body.
type part struct{ name, file, content string }

// upload makes one multipart call.
func upload(t *testing.T, s *Server, method, path string, parts ...part) (status int) {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, p := range parts {
		create := func() (io.Writer, error) { return w.CreateFormField(p.name) }
		if p.file != "" {
			create = func() (io.Writer, error) { return w.CreateFormFile(p.name, p.file) }
		}
		to, err := create()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(to, p.content)
	}
	w.Close()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL()+"/api/v10"+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", w.FormDataContentType())
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestUploadsThatDiscordRefuses(t *testing.T) {
	const embed = `"embeds":[{"image":{"url":"attachment://a.png"}}],` + quiet
	file := part{"files[0]", "a.png", "PNG"}
	for name, test := range map[string]struct {
		why   string
		parts []part
	}{
		"no JSON":             {"no payload_json", []part{file}},
		"JSON broken":         {"is not JSON", []part{{"payload_json", "", `{"content":`}, file}},
		"file without number": {"neither payload_json", []part{{"payload_json", "", `{"content":"x",` + quiet + `}`}, {"file", "a.png", "PNG"}}},
		"file without name":   {"no name or content", []part{{"payload_json", "", `{"content":"x",` + quiet + `}`}, {"files[0]", "", "PNG"}}},
		"empty file":          {"no name or content", []part{{"payload_json", "", `{"content":"x",` + quiet + `}`}, {"files[0]", "a.png", ""}}},
		"described twice":     {"or one twice", []part{{"payload_json", "", `{"attachments":[{"id":"0"},{"id":"0"}],` + embed + `}`}, file}},
		"another's place":     {"names neither", []part{{"payload_json", "", `{"attachments":[{"id":"1"}],` + embed + `}`}, file}},
		"description is long": {"description: length", []part{{"payload_json", "", `{"attachments":[{"id":"0","description":"` + strings.Repeat("d", 1025) + `"}],` + embed + `}`}, file}},
		"another name":        {"no image of that name", []part{{"payload_json", "", `{"attachments":[{"id":"0","filename":"b.png"}],` + embed + `}`}, file}},
		"no image":            {"no image of that name", []part{{"payload_json", "", strings.ReplaceAll(`{`+embed+`}`, "a.png", "a.txt")}, {"files[0]", "a.txt", "PNG"}}},
		"pings":               {"allowed_mentions", []part{{"payload_json", "", `{"content":"x"}`}, file}},
	} {
		s := New()
		p, _ := s.create(used)
		s.respond(p, decoded(t, `{"type":5,"data":{`+quiet+`}}`), nil)
		status := upload(t, s, "PATCH", "/webhooks/"+s.ApplicationID+"/"+p.Token+"/messages/@original", test.parts...)
		if status != http.StatusBadRequest || !refusedFor(s, test.why) || len(p.Answer().Attachments) > 0 {
			t.Errorf("%s: status %d, problems %q", name, status, s.Problems())
		}
		s.Close()
	}
}

// Files that are not listed are added to those of the message; a list says
// which stay.
func TestFilesStayUnlessAListLeavesThemOut(t *testing.T) {
	s := New()
	defer s.Close()
	p, _ := s.create(used)
	payload := func(members string) part {
		return part{"payload_json", "", `{"type":4,"data":{` + members + `"content":"x",` + quiet + `}}`}
	}
	file := part{"files[0]", "a.png", "PNG"}
	described := `"attachments":[{"id":"0","description":"a curve"}],"embeds":[{"image":{"url":"attachment://a.png"}}],`
	if status := upload(t, s, "POST", "/interactions/"+p.ID+"/"+p.Token+"/callback", payload(described), file); status != 204 {
		t.Fatalf("status %d: %q", status, s.Problems())
	}
	first := p.Answer().Attachments
	if len(first) != 1 || first[0].Name != "a.png" || first[0].Description != "a curve" || string(first[0].Bytes) != "PNG" || first[0].ID == "0" {
		t.Fatalf("%+v", first)
	}
	path := "/webhooks/" + s.ApplicationID + "/" + p.Token + "/messages/@original"
	for _, step := range []struct {
		what, attachments string
		parts             []part
		want              int
	}{
		{"no list", "", nil, 1},
		{"no list, a file", "", []part{file}, 2},
		{"the first one stays", `"attachments":[{"id":"` + first[0].ID + `"}],`, nil, 1},
		{"the new one alone", `"attachments":[{"id":"0"}],`, []part{file}, 1},
		{"none stays", `"attachments":[],"embeds":[],`, nil, 0},
	} {
		json := part{"payload_json", "", `{` + step.attachments + quiet + `}`}
		if status := upload(t, s, "PATCH", path, append([]part{json}, step.parts...)...); status != 200 {
			t.Errorf("%s: status %d: %q", step.what, status, s.Problems())
		}
		if now := p.Answer().Attachments; len(now) != step.want {
			t.Errorf("%s: %+v", step.what, now)
		}
	}
}
