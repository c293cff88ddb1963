package deploy

import (
	"path"
	"strings"
	"testing"
	"time"
)

// manifest has what the tests look at of any kind.
// https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/
type manifest struct {
	Kind       string
	Metadata   struct{ Name string }
	Data       map[string]string // of a ConfigMap
	StringData map[string]string `yaml:"stringData"` // of a Secret
	Spec       struct {
		Replicas int
		Selector any
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     podSpec
		}
		Ports []struct {
			Name       string
			TargetPort string `yaml:"targetPort"`
		}
		Rules []struct {
			HTTP struct {
				Paths []struct {
					Path    string
					Type    string `yaml:"pathType"`
					Backend struct {
						Service struct {
							Name string
							Port struct{ Name string }
						}
					}
				}
			}
		}
	}
}

type podSpec struct {
	Grace    int `yaml:"terminationGracePeriodSeconds"`
	Security struct {
		NonRoot bool                  `yaml:"runAsNonRoot"`
		User    int                   `yaml:"runAsUser"`
		Seccomp struct{ Type string } `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	Containers []container
	Volumes    []struct {
		Name   string
		Secret struct {
			Name string `yaml:"secretName"`
		}
	}
}

type container struct {
	Image   string
	Env     []struct{ Name, Value string }
	EnvFrom []struct {
		ConfigMap struct{ Name string } `yaml:"configMapRef"`
	} `yaml:"envFrom"`
	Ports []struct {
		Name string
		Port string `yaml:"containerPort"`
	}
	Startup   probe `yaml:"startupProbe"`
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Lifecycle struct {
		PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
	}
	Security struct {
		Escalation   *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnly     bool  `yaml:"readOnlyRootFilesystem"`
		Capabilities struct{ Drop []string }
	} `yaml:"securityContext"`
	Resources struct{ Limits map[string]string }
	Mounts    []struct {
		Name string
		Path string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// manifests are those of kubernetes.yaml by kind.
func manifests(t *testing.T) map[string]manifest {
	t.Helper()
	all := map[string]manifest{}
	for _, text := range strings.Split(read(t, "kubernetes.yaml"), "\n---\n") {
		var m manifest
		decode(t, text, &m)
		if m.Metadata.Name != "herald" {
			t.Errorf("a %s is named %q", m.Kind, m.Metadata.Name)
		}
		all[m.Kind] = m
	}
	return all
}

func readManifests(t *testing.T) deployment {
	t.Helper()
	all := manifests(t)
	pod := all["Deployment"].Spec.Template.Spec
	c := pod.Containers[0]
	d := deployment{
		environ:     all["ConfigMap"].Data,
		stopsWithin: time.Duration(pod.Grace-c.Lifecycle.PreStop.Sleep.Seconds) * time.Second,
		probes:      []string{c.Startup.HTTPGet.Path, c.Liveness.HTTPGet.Path, c.Readiness.HTTPGet.Path},
		port:        c.Ports[0].Port,
	}
	for _, e := range c.Env {
		d.environ[e.Name] = e.Value
	}
	for key := range all["Secret"].StringData {
		d.secrets = append(d.secrets, path.Join(c.Mounts[0].Path, key))
	}
	for _, p := range all["Ingress"].Spec.Rules[0].HTTP.Paths {
		d.routes = append(d.routes, p.Path)
		if p.Type != "Exact" || p.Backend.Service.Name != "herald" || p.Backend.Service.Port.Name != all["Service"].Spec.Ports[0].Name {
			t.Errorf("the ingress routes %+v", p)
		}
	}
	return d
}

func TestTheManifestsFitTogether(t *testing.T) {
	all := manifests(t)
	for _, kind := range []string{"ConfigMap", "Secret", "Deployment", "PodDisruptionBudget", "Service", "Ingress", "NetworkPolicy"} {
		if _, there := all[kind]; !there {
			t.Errorf("there is no %s", kind)
		}
	}
	for key, value := range all["Secret"].StringData {
		if value != "" {
			t.Errorf("%s is filled in", key)
		}
	}
	spec := all["Deployment"].Spec
	c := spec.Template.Spec.Containers[0]
	name := c.Ports[0].Name
	for what, port := range map[string]string{
		"startup": c.Startup.HTTPGet.Port, "liveness": c.Liveness.HTTPGet.Port, "readiness": c.Readiness.HTTPGet.Port,
		"service": all["Service"].Spec.Ports[0].TargetPort,
	} {
		if port != name {
			t.Errorf("%s: the port is %q, the container's %q", what, port, name)
		}
	}
	if c.EnvFrom[0].ConfigMap.Name != "herald" || spec.Template.Spec.Volumes[0].Secret.Name != "herald" || spec.Template.Spec.Volumes[0].Name != c.Mounts[0].Name {
		t.Error("the pod reads another ConfigMap or Secret")
	}
	if spec.Replicas != 2 || spec.Template.Metadata.Labels["app.kubernetes.io/name"] != "herald" {
		t.Errorf("%d replicas of %v", spec.Replicas, spec.Template.Metadata.Labels)
	}
	labels := strings.Count(read(t, "kubernetes.yaml"), "app.kubernetes.io/name: herald}")
	if all := strings.Count(read(t, "kubernetes.yaml"), "app.kubernetes.io/name:"); labels != all {
		t.Errorf("%d of %d labels are of something else", all-labels, all)
	}
}

func TestThePodMayDoNoMoreThanItNeeds(t *testing.T) {
	pod := manifests(t)["Deployment"].Spec.Template.Spec
	c := pod.Containers[0]
	if s := pod.Security; !s.NonRoot || s.User != 65532 || s.Seccomp.Type != "RuntimeDefault" {
		t.Errorf("the pod runs with %+v", s)
	}
	if s := c.Security; s.Escalation == nil || *s.Escalation || !s.ReadOnly || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" {
		t.Errorf("the container runs with %+v", s)
	}
	if c.Resources.Limits["memory"] == "" || c.Resources.Limits["cpu"] != "" {
		t.Errorf("its limits are %v", c.Resources.Limits)
	}
}
