package deploy

import (
	"regexp"
	"strings"
	"testing"
)

// workflow is one of GitHub's.
// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax
type workflow struct {
	On          map[string]any
	Permissions map[string]string
	Jobs        map[string]struct {
		Permissions map[string]string
		Uses        string
		Steps       []struct{ Uses, Run string }
	}
}

func loadWorkflow(t *testing.T, name string) (w workflow) {
	t.Helper()
	decode(t, read(t, "../.github/workflows/"+name), &w)
	return w
}

func TestTheImageIsThatOfTheWorkflow(t *testing.T) {
	pushed := matches(`--tag "([^"]*)"`, read(t, "../.github/workflows/image.yml"))
	if len(pushed) != 1 {
		t.Fatalf("the workflow pushes %v", pushed)
	}
	// What GitHub and the shell put in, by what stands for it in the manifests.
	want := strings.NewReplacer("${GITHUB_REPOSITORY_OWNER,,}", "OWNER", "$version", "VERSION").Replace(pushed[0])
	if got := manifests(t)["Deployment"].Spec.Template.Spec.Containers[0].Image; got != want {
		t.Errorf("the manifests run %s, the workflow pushes %s", got, want)
	}
	if document := read(t, "../docs/deployment.md"); !strings.Contains(document, want) {
		t.Errorf("docs/deployment.md does not name %s", want)
	}
}

func TestTheWorkflowThatPushesMayDoNothingElse(t *testing.T) {
	w := loadWorkflow(t, "image.yml")
	if len(w.On) != 1 || len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		t.Errorf("it runs on %v, with %v", w.On, w.Permissions)
	}
	push := w.Jobs["push"]
	if p := push.Permissions; len(p) != 2 || p["contents"] != "read" || p["packages"] != "write" {
		t.Errorf("what pushes may %v", p)
	}
	pinned := regexp.MustCompile(`^[\w/-]+@[0-9a-f]{40}$`)
	for _, step := range push.Steps {
		if step.Uses != "" && !pinned.MatchString(step.Uses) {
			t.Errorf("%s is not pinned to a commit", step.Uses)
		}
	}
	if _, checks := loadWorkflow(t, "ci.yml").On["workflow_call"]; w.Jobs["check"].Uses != "./.github/workflows/ci.yml" || !checks {
		t.Error("it pushes what was not checked")
	}
	for _, want := range []string{"--push", "--provenance=mode=max", "--sbom=true", "linux/amd64,linux/arm64"} {
		if !strings.Contains(push.Steps[len(push.Steps)-1].Run, want) {
			t.Errorf("the image is built without %s", want)
		}
	}
}
