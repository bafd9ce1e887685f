package kanontest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"kanon.dev/kanon/internal/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// folder makes a folder with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRead(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"no step":        {"steps: []\n", ""},
		"a step":         {"steps: [{name: a, apply: [parent.yaml]}]\n", ""},
		"without a name": {"steps: [{apply: [parent.yaml]}]\n", "step 1 has no name"},
		"another word":   {"steps: [{name: a, awaits: []}]\n", `unknown field "awaits"`},
		"no YAML":        {"steps: [", "yaml"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ReadScenario(folder(t, map[string]string{ScenarioFile: test.text}))
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
	if _, err := ReadScenario(t.TempDir()); err == nil {
		t.Error("a folder without a scenario was read")
	}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	const parent = "# two of them\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: $NAMESPACE}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n"
	tests := map[string]struct{ given, want string }{
		"objects and files": {"[{apiVersion: v1, kind: Pod, metadata: {name: p}}, parent.yaml]", "Pod /p ConfigMap home/a ConfigMap /b"},
		"without a name":    {"[{apiVersion: v1, kind: Pod}]", "an object needs apiVersion, kind and metadata.name"},
		"no such file":      {"[other.yaml]", "other.yaml"},
		"an empty file":     {"[empty.yaml]", "there is no object in it"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := ReadScenario(folder(t, map[string]string{
				ScenarioFile: "steps: [{name: a, apply: " + test.given + "}]\n", "parent.yaml": parent, "empty.yaml": "# nothing\n",
			}))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			objects, err := s.Objects(s.Steps[0].Apply, "home")
			for _, obj := range objects {
				got = append(got, fmt.Sprintf("%s %s/%s", obj.GetKind(), obj.GetNamespace(), obj.GetName()))
			}
			if err != nil {
				got = []string{err.Error()}
			}
			if found := strings.Join(got, " "); !strings.Contains(found, test.want) {
				t.Errorf("found %q, want %q", found, test.want)
			}
		})
	}
}

// recorder is a test that may fail, and whose messages are kept.
type recorder struct {
	testing.TB

	text   strings.Builder
	failed bool
}

func (r *recorder) Helper()      {}
func (r *recorder) Failed() bool { return r.failed }
func (r *recorder) Log(args ...any) {
	fmt.Fprintln(&r.text, args...)
}

func (r *recorder) Errorf(format string, args ...any) {
	fmt.Fprintf(&r.text, format+"\n", args...)
	r.failed = true
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// played plays a scenario in a namespace of its own, without any operator, and returns what it says.
func played(t *testing.T, text string) *recorder {
	t.Helper()
	s, err := ReadScenario(folder(t, map[string]string{ScenarioFile: text}))
	if err != nil {
		t.Fatal(err)
	}
	config := controlplanetest.Config(t)
	r := &recorder{TB: t}
	cluster := NewCluster(t, config).In(r, controlplanetest.Namespace(t, config)).Within(time.Second)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Play(cluster)
	}()
	<-done
	return r
}

func TestPlay(t *testing.T) {
	t.Parallel()
	const object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}"
	const begin = "steps: [{name: made, apply: [" + object + ", data: {x: '1'}}], await: [" + object + ", data: {x: '1', y: null}}]}, {name: then, "
	tests := map[string]struct{ step, want string }{
		"a change":               {"patch: [" + object + ", data: {x: '2'}}], await: [" + object + ", data: {x: '2'}}]", ""},
		"what is deleted":        {"delete: [" + object + "}], gone: [" + object + "}]", ""},
		"what stays":             {"unchanged: [" + object + "}]", ""},
		"another value":          {"await: [" + object + ", data: {x: '3'}}]", `.data.x: want "3", is "1"`},
		"what does not go":       {"gone: [" + object + "}]", "it is still there"},
		"what is not made again": {"delete: [" + object + "}], await: [" + object + "}]", "it is not there"},
		"what changes":           {"patch: [" + object + ", data: {x: '2'}}], unchanged: [" + object + "}]", `its data has changed from {"x":"1"} to {"x":"2"}`},
		"what was not seen":      {"unchanged: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]", "no step awaited ConfigMap b before"},
		"an Event":               {"events: [{about: a, reason: Made, message: well}]", "an Event Made about a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := played(t, begin+test.step+"}]\n")
			said := r.text.String()
			if r.failed != (test.want != "") || !strings.Contains(said, test.want) {
				t.Errorf("it says %q, want %q", said, test.want)
			}
			if r.failed && !strings.Contains(said, "fails at: then") {
				t.Errorf("it does not name the step: %s", said)
			}
		})
	}
}
