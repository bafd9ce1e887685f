package apply

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReleasedEntries(t *testing.T) {
	const v1 = "test/v1"
	item := func(name, fields string) string {
		return `"k:{\"port\":` + name + `,\"protocol\":\"TCP\"}": {` + fields + `}`
	}
	spec := func(fields string) string { return `{"f:spec": {` + fields + `}}` }
	c := prepare(t, rendered+"spec: {replicas: 1}")
	type entries []map[string]any
	tests := map[string]struct {
		reason   string
		in, want entries
	}{
		"the POST's entry becomes the Apply entry": {
			"so that the next apply removes what left the template",
			entries{managed(t, Manager, "Update", v1, spec(`"f:paused": {}, "f:replicas": {}`)), managed(t, "x", "Update", v1, spec(`"f:args": {}`))},
			entries{managed(t, "x", "Update", v1, spec(`"f:args": {}`)), managed(t, Manager, "Apply", v1, spec(`"f:paused": {}, "f:replicas": {}`))},
		},
		"both become one": {
			"Apply and Update",
			entries{managed(t, Manager, "Apply", v1, spec(`"f:replicas": {}`)), managed(t, Manager, "Update", v1, spec(`"f:paused": {}`))},
			entries{managed(t, Manager, "Apply", v1, spec(`"f:paused": {}, "f:replicas": {}`))},
		},
		"paths of another version end with no owner": {
			"they cannot be told in this version",
			entries{managed(t, Manager, "Apply", v1, spec(`"f:replicas": {}`)), managed(t, Manager, "Update", "test/v0", spec(`"f:other": {}`))},
			entries{managed(t, Manager, "Apply", v1, spec(`"f:replicas": {}`))},
		},
		"the rendered version is preferred": {
			"of two Update entries",
			entries{managed(t, Manager, "Update", v1, spec(`"f:paused": {}`)), managed(t, Manager, "Update", "test/v0", spec(`"f:other": {}`))},
			entries{managed(t, Manager, "Apply", v1, spec(`"f:paused": {}`))},
		},
		"nothing to move": {
			"the Apply entry alone does it", entries{managed(t, Manager, "Apply", v1, spec(`"f:paused": {}`))}, nil,
		},
		"ancient-changes holds what was applied and is rendered no more": {
			"our POST's entry was folded into it",
			entries{
				managed(t, Manager, "Apply", v1, spec(`"f:replicas": {}, "f:paused": {}`)),
				managed(t, ancientManager, "Update", v1, spec(`"f:replicas": {}, "f:paused": {}, "f:args": {}`)),
			},
			entries{
				managed(t, ancientManager, "Update", v1, spec(`"f:replicas": {}, "f:args": {}`)),
				managed(t, Manager, "Apply", v1, spec(`"f:replicas": {}, "f:paused": {}`)),
			},
		},
		"an item of a list goes with all that is in it": {
			"half an item is none",
			entries{
				managed(t, Manager, "Apply", v1, spec(`"f:ports": {`+item("80", `".": {}, "f:port": {}`)+`}`)),
				managed(t, ancientManager, "Update", v1, spec(`"f:ports": {`+item("80", `".": {}, "f:port": {}, "f:name": {}`)+`}`)),
			},
			entries{managed(t, Manager, "Apply", v1, spec(`"f:ports": {`+item("80", `".": {}, "f:port": {}`)+`}`))},
		},
		"what is below a field stays with its owner": {
			"others may have put it there",
			entries{
				managed(t, Manager, "Apply", v1, spec(`"f:emptyDir": {}`)),
				managed(t, ancientManager, "Update", v1, spec(`"f:emptyDir": {".": {}, "f:medium": {}}`)),
			},
			entries{
				managed(t, ancientManager, "Update", v1, spec(`"f:emptyDir": {"f:medium": {}}`)),
				managed(t, Manager, "Apply", v1, spec(`"f:emptyDir": {}`)),
			},
		},
		"ancient-changes without an Apply entry of ours": {
			"which of its paths were ours is not recorded, so they stay",
			entries{managed(t, ancientManager, "Update", v1, spec(`"f:paused": {}`))},
			nil,
		},
		"ancient-changes of another version": {
			"paths of another version mean something else",
			entries{managed(t, Manager, "Apply", v1, spec(`"f:paused": {}`)), managed(t, ancientManager, "Update", "test/v0", spec(`"f:paused": {}`))},
			nil,
		},
		"ancient-changes and a subresource": {
			"status is not ours",
			entries{managed(t, Manager, "Apply", v1, spec(`"f:paused": {}`)), func() map[string]any {
				e := managed(t, ancientManager, "Update", v1, spec(`"f:paused": {}`))
				e["subresource"] = "status"
				return e
			}()},
			nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := c.releasedEntries(withManaged(c.Object, tt.in...))
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
