// Package examples_test runs every example as its reader would: it installs the
// kind that the example brings along, runs kanon with the rule, creates the
// parent, and looks whether all that want.yaml says comes out. Beyond that, each
// example has stories about what happens next.
package examples_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/internal/kanontest"
)

func TestMain(m *testing.M) { os.Exit(kanontest.Main(m)) }

// story is what happens after an example's objects came out. cluster has the
// namespace of the example's parent.
type story func(cluster *kanontest.Cluster)

// stories are told by example and name. An example acts cluster-wide, so its
// stories are told one after the other; different examples do not meet.
var stories = map[string]map[string]story{
	"foo": {
		"a Deployment of somebody else": fooMeetsStranger,
	},
	"namespace-baseline": {
		"a label comes and goes":     namespaceIsRelabelled,
		"a namespace can be deleted": namespaceIsDeleted,
	},
	"webapp": {
		"where it is served":       webAppSaysWhereItIs,
		"scaling is asked for":     webAppIsScaled,
		"settings that are edited": webAppFollowsSettings,
	},
}

func TestExamples(t *testing.T) {
	dirs := directories(t)
	for name := range stories {
		if !slices.Contains(dirs, name) {
			t.Errorf("there are stories for %s, but no such example", name)
		}
	}
	shared := kanontest.NewCluster(t, controlplanetest.Config(t))
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			want := kanontest.ReadManifest(t, filepath.Join(dir, "want.yaml"))
			cluster := shared.In(t, controlplanetest.Namespace(t, controlplanetest.Config(t)))
			if crd := filepath.Join(dir, "crd.yaml"); exists(t, crd) {
				cluster.Apply(kanontest.ReadManifest(t, crd)...)
			}
			kanon := kanontest.Start(t, "run", "--kubeconfig", controlplanetest.Kubeconfig(t), "--rules", filepath.Join(dir, "rule.yaml"))
			cluster.Apply(kanontest.ReadManifest(t, filepath.Join(dir, "parent.yaml"))...)
			for _, obj := range want {
				cluster.AwaitMatch(obj)
			}
			for name, tell := range stories[dir] {
				t.Run(name, func(t *testing.T) { tell(cluster.For(t)) })
			}
			for line := range strings.Lines(kanon.Log()) {
				if strings.Contains(line, "level=ERROR") {
					t.Errorf("kanon complains: %s", line)
				}
			}
		})
	}
}

// directories are the examples.
func directories(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var dirs []string
	for _, entry := range entries {
		if entry.IsDir() {
			dirs = append(dirs, entry.Name())
		}
	}
	return dirs
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}
