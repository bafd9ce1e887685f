// Package examples_test plays the scenario of each example against a real API server, with one Kanon that runs the rules of all of
// them with the least rights, and holds that each folder has what its reader needs.
package examples_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
	"kanon.dev/kanon/rules"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := manyAtOnce(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(kanontest.MainWith(m, controlplanetest.Options{})) // their rules are for all Namespaces
}

var (
	update   = flag.Bool("update", false, "rewrite the graphs in the README.md of each example")
	patience = flag.Duration("patience", time.Minute, "how long a scenario waits for a state")
)

// manyAtOnce has many scenarios played at the same time, unless it was said how many: most of the time one waits for something.
func manyAtOnce() error {
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(max(8, 4*runtime.GOMAXPROCS(0))))
}

func TestScenarios(t *testing.T) {
	dirs := directories(t)
	recorder := newRecorder(t)
	args := []string{"run", "--kubeconfig", controlplanetest.Kubeconfig(t), "--server", recorder.URL}
	var files []string
	for _, dir := range dirs {
		path := filepath.Join(dir, "rule.yaml")
		args = append(args, "--rules", path)
		files = append(files, path)
	}
	shared := kanontest.NewCluster(t, controlplanetest.Config(t))
	for _, dir := range dirs {
		if path := filepath.Join(dir, "crd.yaml"); exists(t, path) {
			shared.Apply(kanontest.ReadManifest(t, path)...)
		}
	}
	grantLeast(t, shared)
	kanon := kanontest.Start(t, append(args, "--as", kanonAccount)...)
	for _, crd := range check(t, files...).CRDs { // those of schemas, which Kanon applies
		shared.Await(crd, func(live *unstructured.Unstructured) error {
			if kanontest.ConditionStatus(live, "Established") != "True" {
				return fmt.Errorf("it is not established")
			}
			return nil
		})
	}
	var played atomic.Int64
	t.Cleanup(func() { // once all are played
		if n := recorder.compared.Load(); n < played.Load() {
			t.Errorf("%d objects of kanon render were compared with those of kanon run", n)
		}
		for line := range strings.Lines(kanon.Log()) {
			waits := strings.Contains(line, `err="waiting for `) // a busy API server serves a new kind late
			if strings.Contains(line, "level=ERROR") && !waits {
				t.Errorf("kanon complains: %s", line)
			}
		}
	})
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			played.Add(1)
			scenario, err := kanontest.ReadScenario(dir)
			if err != nil {
				t.Fatal(err)
			}
			cluster := shared.In(t, controlplanetest.Namespace(t, controlplanetest.Config(t))).Within(*patience)
			compareLater := recorder.renderIsWhatRunCreates(t, cluster, dir, scenario)
			scenario.Play(cluster)
			compareLater()
		})
	}
}

// check compiles the rules in files or folders, with the kinds in them, as kanon validate does.
func check(t *testing.T, paths ...string) *manifests.Checked {
	t.Helper()
	files, err := manifests.Read(paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := manifests.BuiltinKinds()
	if err != nil {
		t.Fatal(err)
	}
	checked, err := manifests.Check(t.Context(), files, nil, kinds, rules.Options{Namespace: engine.DefaultNamespace})
	if err != nil {
		t.Fatal(err)
	}
	return checked
}

// directories are the examples.
func directories(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("*/rule.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("found the rules %q: %v", paths, err)
	}
	var dirs []string
	for _, path := range paths {
		dirs = append(dirs, filepath.Dir(path))
	}
	return dirs
}
