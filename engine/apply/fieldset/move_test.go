package fieldset

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kanon.dev/kanon/engine/apply/applytest"
)

func TestEntriesForApply(t *testing.T) {
	const v1 = "test/v1"
	item := func(name, fields string) string {
		return `"k:{\"port\":` + name + `,\"protocol\":\"TCP\"}": {` + fields + `}`
	}
	spec := func(fields string) string { return `{"f:spec": {` + fields + `}}` }
	c := desired(t, rendered+"spec: {replicas: 1}")
	type entries []map[string]any
	tests := map[string]struct {
		reason   string
		in, want entries
	}{
		"the POST's entry becomes the Apply entry": {
			"so that the next apply removes what left the template",
			entries{applytest.Managed(t, Manager, "Update", v1, spec(`"f:paused": {}, "f:replicas": {}`)), applytest.Managed(t, "x", "Update", v1, spec(`"f:args": {}`))},
			entries{applytest.Managed(t, "x", "Update", v1, spec(`"f:args": {}`)), applytest.Managed(t, Manager, "Apply", v1, spec(`"f:paused": {}, "f:replicas": {}`))},
		},
		"both become one": {
			"Apply and Update",
			entries{applytest.Managed(t, Manager, "Apply", v1, spec(`"f:replicas": {}`)), applytest.Managed(t, Manager, "Update", v1, spec(`"f:paused": {}`))},
			entries{applytest.Managed(t, Manager, "Apply", v1, spec(`"f:paused": {}, "f:replicas": {}`))},
		},
		"paths of another version end with no owner": {
			"they cannot be told in this version",
			entries{applytest.Managed(t, Manager, "Apply", v1, spec(`"f:replicas": {}`)), applytest.Managed(t, Manager, "Update", "test/v0", spec(`"f:other": {}`))},
			entries{applytest.Managed(t, Manager, "Apply", v1, spec(`"f:replicas": {}`))},
		},
		"the rendered version is preferred": {
			"of two Update entries",
			entries{applytest.Managed(t, Manager, "Update", v1, spec(`"f:paused": {}`)), applytest.Managed(t, Manager, "Update", "test/v0", spec(`"f:other": {}`))},
			entries{applytest.Managed(t, Manager, "Apply", v1, spec(`"f:paused": {}`))},
		},
		"nothing to move": {
			"the Apply entry alone does it", entries{applytest.Managed(t, Manager, "Apply", v1, spec(`"f:paused": {}`))}, nil,
		},
		"ancient-changes holds what was applied and is rendered no more": {
			"our POST's entry was folded into it",
			entries{
				applytest.Managed(t, Manager, "Apply", v1, spec(`"f:replicas": {}, "f:paused": {}`)),
				applytest.Managed(t, AncientManager, "Update", v1, spec(`"f:replicas": {}, "f:paused": {}, "f:args": {}`)),
			},
			entries{
				applytest.Managed(t, AncientManager, "Update", v1, spec(`"f:replicas": {}, "f:args": {}`)),
				applytest.Managed(t, Manager, "Apply", v1, spec(`"f:replicas": {}, "f:paused": {}`)),
			},
		},
		"an item of a list goes with all that is in it": {
			"half an item is none",
			entries{
				applytest.Managed(t, Manager, "Apply", v1, spec(`"f:ports": {`+item("80", `".": {}, "f:port": {}`)+`}`)),
				applytest.Managed(t, AncientManager, "Update", v1, spec(`"f:ports": {`+item("80", `".": {}, "f:port": {}, "f:name": {}`)+`}`)),
			},
			entries{applytest.Managed(t, Manager, "Apply", v1, spec(`"f:ports": {`+item("80", `".": {}, "f:port": {}`)+`}`))},
		},
		"what is below a field stays with its owner": {
			"others may have put it there",
			entries{
				applytest.Managed(t, Manager, "Apply", v1, spec(`"f:emptyDir": {}`)),
				applytest.Managed(t, AncientManager, "Update", v1, spec(`"f:emptyDir": {".": {}, "f:medium": {}}`)),
			},
			entries{
				applytest.Managed(t, AncientManager, "Update", v1, spec(`"f:emptyDir": {"f:medium": {}}`)),
				applytest.Managed(t, Manager, "Apply", v1, spec(`"f:emptyDir": {}`)),
			},
		},
		"ancient-changes without an Apply entry of ours": {
			"which of its paths were ours is not recorded, so they stay",
			entries{applytest.Managed(t, AncientManager, "Update", v1, spec(`"f:paused": {}`))},
			nil,
		},
		"ancient-changes of another version": {
			"paths of another version mean something else",
			entries{applytest.Managed(t, Manager, "Apply", v1, spec(`"f:paused": {}`)), applytest.Managed(t, AncientManager, "Update", "test/v0", spec(`"f:paused": {}`))},
			nil,
		},
		"ancient-changes and a subresource": {
			"status is not ours",
			entries{applytest.Managed(t, Manager, "Apply", v1, spec(`"f:paused": {}`)), func() map[string]any {
				e := applytest.Managed(t, AncientManager, "Update", v1, spec(`"f:paused": {}`))
				e["subresource"] = "status"
				return e
			}()},
			nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := c.EntriesForApply(applytest.WithManaged(c.Object, tt.in...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(normal(t, tt.want), normal(t, got)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tt.reason, diff)
			}
		})
	}
}

// normal brings entries of either form to plain JSON values.
func normal(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
