package engine_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kanon.dev/kanon/engine/apply/fieldset"
	"kanon.dev/kanon/engine/apply/mark"
)

// boxRule makes a ConfigMap and a Service of each Box.
const boxRule = `
apiVersion: kanon.dev/v1alpha1
kind: Rule
metadata: {name: box}
spec:
  parent: {apiVersion: $GROUP/v1, kind: Box}
  children:
  - id: config
    template:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "${parent.metadata.name}-config"}
      data: {color: "${parent.spec.color}"}
  - id: service
    when: ${parent.spec.?served.orValue(true)}
    template:
      apiVersion: v1
      kind: Service
      metadata: {name: "${parent.metadata.name}"}
      spec:
        selector: {box: "${parent.metadata.name}"}
        ports: [{port: 80}]
  status:
    address: ${children.service.spec.clusterIP}
    color: ${children.config.data.color}
`

func TestParentLifecycle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	w.run()
	w.verdict("box", `"ready":true`)
	boxes := w.resource("Box")

	parent := w.parent("Box", "red", "{color: red}")
	ready := w.await(boxes, w.home, "red", "is ready", isTrue("Ready"))
	service := w.get(services, w.home, "red")
	if got, want := field(ready, "status", "address"), field(service, "spec", "clusterIP"); got != want {
		t.Errorf("status.address is %v, want the Service's %v", got, want)
	}
	if controller := service.GetOwnerReferences(); len(controller) != 1 || controller[0].UID != parent.GetUID() {
		t.Errorf("the Service's owner references are %v, want the parent alone", controller)
	}

	w.patch(boxes, w.home, "red", `{"spec":{"color":"blue"}}`)
	w.await(configMaps, w.home, "red-config", "follows the change", has("blue", "data", "color"))
	w.await(boxes, w.home, "red", "says so", has("blue", "status", "color"))

	w.patch(boxes, w.home, "red", `{"spec":{"served":false}}`)
	w.awaitGone(services, w.home, "red")
	w.get(configMaps, w.home, "red-config")
	w.patch(boxes, w.home, "red", `{"spec":{"served":true}}`)
	w.await(services, w.home, "red", "is back", exists)

	w.delete(boxes, w.home, "red")
	w.awaitGone(configMaps, w.home, "red-config")
	w.awaitGone(services, w.home, "red")
}

func TestRequestsOfAParent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	w.run()
	w.verdict("box", `"ready":true`)
	boxes := w.resource("Box")
	// The first parent has the schemas loaded.
	w.parent("Box", "first", "{color: red}")
	w.await(boxes, w.home, "first", "is ready", isTrue("Ready"))

	before := w.requests.count()
	w.parent("Box", "red", "{color: red}")
	w.await(boxes, w.home, "red", "is ready", isTrue("Ready"))
	w.quiet()
	if got := w.requestsAtHome(before); len(got) != 3 {
		t.Errorf("a new parent with two children took %d requests, want two creations and a status: %q", len(got), got)
	}

	before = w.requests.count()
	w.patch(boxes, w.home, "red", `{"spec":{"color":"blue"}}`)
	w.await(boxes, w.home, "red", "says so", has("blue", "status", "color"))
	w.quiet()
	if got := w.requestsAtHome(before); len(got) != 2 {
		t.Errorf("a change of one child took %d requests, want an apply and a status: %q", len(got), got)
	}
}

func TestDriftIsPutRight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Box")
	w.rule("box", boxRule)
	w.run()
	w.parent("Box", "red", "{color: red}")
	w.await(w.resource("Box"), w.home, "red", "is ready", isTrue("Ready"))

	t.Run("edit", func(t *testing.T) {
		w := w.in(t)
		w.patch(configMaps, w.home, "red-config", `{"data":{"color":"grey"}}`)
		w.await(configMaps, w.home, "red-config", "is red again", has("red", "data", "color"))
	})
	t.Run("edit and revert", func(t *testing.T) {
		w := w.in(t)
		w.patch(configMaps, w.home, "red-config", `{"data":{"color":"grey"}}`)
		w.patch(configMaps, w.home, "red-config", `{"data":{"color":"red"}}`)
		w.await(configMaps, w.home, "red-config", "is red and Kanon's again", func(obj *unstructured.Unstructured) bool {
			return field(obj, "data", "color") == "red" && ownsField(obj, "f:data", "f:color")
		})
	})
	t.Run("a field of nobody's", func(t *testing.T) {
		w := w.in(t)
		w.patch(configMaps, w.home, "red-config", `{"data":{"size":"big","color":"grey"}}`)
		obj := w.await(configMaps, w.home, "red-config", "is red again", has("red", "data", "color"))
		if field(obj, "data", "size") != "big" {
			t.Errorf("a field that the rule does not render was taken away: %v", obj.Object["data"])
		}
	})
	t.Run("delete", func(t *testing.T) {
		w := w.in(t)
		before := w.get(services, w.home, "red").GetUID()
		w.delete(services, w.home, "red")
		after := w.await(services, w.home, "red", "is back", func(obj *unstructured.Unstructured) bool { return obj.GetUID() != before })
		w.await(w.resource("Box"), w.home, "red", "says the new address",
			has(field(after, "spec", "clusterIP"), "status", "address"))
	})
	t.Run("labels and annotations taken away", func(t *testing.T) {
		w := w.in(t)
		w.patch(configMaps, w.home, "red-config", `{"metadata":{"labels":null,"annotations":null}}`)
		w.await(configMaps, w.home, "red-config", "is marked again", func(obj *unstructured.Unstructured) bool {
			_, owned := mark.ReadOwner(obj)
			return owned && obj.GetLabels()[mark.LabelRule] != ""
		})
	})
}

// ownsField tells whether Kanon's entries in managedFields have a path.
func ownsField(obj *unstructured.Unstructured, path ...string) bool {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager != fieldset.Manager || entry.FieldsV1 == nil {
			continue
		}
		fields := map[string]any{}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			continue
		}
		if _, found, _ := unstructured.NestedFieldNoCopy(fields, path...); found {
			return true
		}
	}
	return false
}
