package monitor

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/wire"
)

// TestKeepsPacked holds that what an informer keeps of many objects of one template is not
// what came, but reads the same.
func TestKeepsPacked(t *testing.T) {
	t.Parallel()
	const many = 1000
	m, packed := &monitor{}, 0
	for n := range many {
		object, err := wire.Decode(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"app-%d","namespace":"default",`+
			`"uid":"%d","resourceVersion":"%d","labels":{"app.kubernetes.io/managed-by":"somebody"},"managedFields":[{"manager":"somebody","fieldsV1":{"f:data":{}}}]},`+
			`"data":{"motto":"so that there is something to share","n":"%d"}}`, n, n, n, n))
		if err != nil {
			t.Fatal(err)
		}
		item, err := m.transform(object)
		if err != nil {
			t.Fatal(err)
		}
		kept, ok := item.(*wire.Object)
		if !ok {
			t.Fatalf("a %T is kept", item)
		}
		if kept != object {
			packed++
		}
		if diff := cmp.Diff(object.Tree().Object, kept.Tree().Object); diff != "" {
			t.Fatalf("object %d (-came +kept):\n%s", n, diff)
		}
	}
	if packed < many/2 {
		t.Errorf("%d of %d objects are packed", packed, many)
	}
}
