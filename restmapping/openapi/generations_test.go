package openapi

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/internal/controlplanetest"
	"kanon.dev/kanon/restmapping"
)

// TestGenerations compares generations.txt with what the API server sets in the least object of each kind, or writes it.
func TestGenerations(t *testing.T) {
	config := rest.CopyConfig(controlplanetest.Config(t))
	config.WarningHandlerWithContext = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	table, err := restmapping.LoadBuiltin()
	if err != nil {
		t.Fatal(err)
	}
	s := survey{client: client, table: table, namespace: controlplanetest.Namespace(t, config)}
	var builtinKinds []string
	for _, least := range leastObjects(t, s.namespace) {
		answer, err := s.create(t, least)
		if err != nil {
			t.Errorf("%s %s: %v", least.GetKind(), least.GetName(), err)
			continue
		}
		if answer.GetGeneration() > 0 {
			builtinKinds = append(builtinKinds, least.GroupVersionKind().GroupKind().String())
		}
	}
	slices.Sort(builtinKinds)
	want := strings.Join(slices.Compact(builtinKinds), "\n") + "\n"
	if *update {
		if err := os.WriteFile("generations.txt", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, generationsText); diff != "" {
		t.Errorf("generations.txt is not what the control plane says; run go generate (-want +got):\n%s", diff)
	}
}
