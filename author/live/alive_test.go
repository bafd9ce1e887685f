package live

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/fake"
)

// Whether a Kanon runs that does not answer is told by its Lease, as far as it has one.
func TestWhySilent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 5, 6, 7, 8, 0, time.UTC)
	const unknown = "is Kanon running? kanon get rules shows what it reports"
	for name, tt := range map[string]struct {
		spec map[string]any
		want string
	}{
		"no Lease":         {nil, unknown},
		"one without time": {map[string]any{"holderIdentity": "kanon-1", "leaseDurationSeconds": int64(15)}, unknown},
		"renewed": {
			map[string]any{"holderIdentity": "kanon-1", "leaseDurationSeconds": int64(15), "renewTime": "2026-03-05T06:07:05.000000Z"},
			"kanon-1 runs, as it renewed its Lease 3s ago: it has much to do, or may not create Events; its log says which",
		},
		"expired": {
			map[string]any{"holderIdentity": "kanon-1", "leaseDurationSeconds": int64(15), "renewTime": "2026-03-05T06:02:08.000000Z"},
			"no Kanon runs, as Lease kanon in namespace kanon-system was renewed 5m ago",
		},
		"given back": {
			map[string]any{"holderIdentity": "", "leaseDurationSeconds": int64(15), "renewTime": "2026-03-05T06:07:05.000000Z"},
			"no Kanon runs, as Lease kanon in namespace kanon-system was renewed 3s ago",
		},
	} {
		var objects []runtime.Object
		if tt.spec != nil {
			objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
				"metadata": map[string]any{"name": "kanon", "namespace": "kanon-system"}, "spec": tt.spec,
			}})
		}
		client := fake.NewSimpleDynamicClient(runtime.NewScheme(), objects...)
		if got := WhySilent(t.Context(), client, types.NamespacedName{Namespace: "kanon-system", Name: "kanon"}, now); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
