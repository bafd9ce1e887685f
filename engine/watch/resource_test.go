package watch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// serve is an API server that answers each path with a text.
func serve(t *testing.T, answers map[string]string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, ok := answers[r.URL.Path]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no such thing","reason":"NotFound","code":404}`
		}
		_, _ = fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	client, err := NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestList(t *testing.T) {
	t.Parallel()
	client := serve(t, map[string]string{
		"/api/v1/namespaces/a/pods": `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c"},"items":[
			{"metadata":{"name":"x","namespace":"a","resourceVersion":"3"},"spec":{"n":1}},
			{"metadata":{"name":7,"labels":{"odd":"yes"}},"spec":{"n":2}}]}`,
		"/apis/g/v2/things":   `{"apiVersion":"g/v2","items":[{"apiVersion":"g/v2","kind":"Thing","metadata":{"name":"y"}}],"kind":"ThingList","metadata":{}}`,
		"/apis/g/v2/nothings": `{"apiVersion":"g/v2","items":null,"kind":"NothingList","metadata":{"resourceVersion":"9"}}`,
		"/apis/g/v2/escapes":  `{"apiVersion":"g/v2","it\u0065ms":[{"apiVersion":"g/v2","kind":"Thing","met\u0061data":{"name":"z"}}],"kind":"ThingList","met\u0061data":{"resourceVersion":"5"}}`,
		"/apis/g/v2/broken":   `{"apiVersion":"g/v2","items":[{]}`,
	})
	for name, tc := range map[string]struct {
		gvr       schema.GroupVersionResource
		namespace string
		want      []string
	}{
		"a built-in kind": {gvr: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, namespace: "a", want: []string{"7 c", "v1 Pod a/x 1", "v1 Pod / 2"}},
		"a custom kind":   {gvr: schema.GroupVersionResource{Group: "g", Version: "v2", Resource: "things"}, want: []string{" ", "g/v2 Thing /y <nil>"}},
		"escaped keys":    {gvr: schema.GroupVersionResource{Group: "g", Version: "v2", Resource: "escapes"}, want: []string{"5 ", "g/v2 Thing /z <nil>"}},
		"no objects":      {gvr: schema.GroupVersionResource{Group: "g", Version: "v2", Resource: "nothings"}, want: []string{"9 "}},
	} {
		list, err := client.Objects(tc.gvr, tc.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := []string{list.ResourceVersion + " " + list.Continue}
		for _, item := range list.Items {
			n, _, _ := unstructured.NestedFieldNoCopy(item.Tree().Object, "spec", "n")
			if kind := item.Head().GetKind(); kind != item.Kind() {
				t.Errorf("%s: the head is a %s", name, kind)
			}
			got = append(got, fmt.Sprintf("%s %s %s/%s %v", item.APIVersion(), item.Kind(), item.Namespace(), item.Name(), n))
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if _, err := client.Objects(schema.GroupVersionResource{Group: "g", Version: "v2", Resource: "broken"}, "").List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("a broken list was read")
	}
	if _, err := client.Objects(schema.GroupVersionResource{Group: "g", Version: "v2", Resource: "unknown"}, "").List(t.Context(), metav1.ListOptions{}); !apierrors.IsNotFound(err) || err.Error() != "no such thing" {
		t.Errorf("what is not there gives %v", err)
	}
}

// What an API server says that writes JSON in a way of its own is read as client-go reads it.
func TestClient(t *testing.T) {
	t.Parallel()
	things := schema.GroupVersionResource{Group: "g", Version: "v2", Resource: "things"}
	client := serve(t, map[string]string{
		"/apis/g/v2/things/usual": `{"apiVersion":"g/v2","kind":"Thing","metadata":{"name":"usual","managedFields":[{"fieldsV1":{"f:a":{}}}]},"items":[1]}`,
		"/apis/g/v2/things/odd":   `{"apiVersion":"g/v2","kind":"Thing","metadata":{"name":"odd","uid":7}}`,
		"/apis/g/v2/things":       `{"type":"ADDED","object":{"apiVersion":"g/v2","kind":"Thing","metadata":{"name":"odd","uid":7}}}` + "\n",
	})
	get := func(ctx context.Context, name string) (*unstructured.Unstructured, error) {
		return client.Resource(things).Get(ctx, name, metav1.GetOptions{})
	}
	usual, err := get(t.Context(), "usual")
	if err != nil {
		t.Fatal(err)
	}
	entry := usual.Object["metadata"].(map[string]any)["managedFields"].([]any)[0].(map[string]any)
	if diff := cmp.Diff(map[string]any{"fieldsV1": `{"f:a":{}}`}, entry); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	odd, err := get(t.Context(), "odd")
	if err != nil || odd.GetName() != "odd" {
		t.Errorf("an odd object is read as %v, %v", odd, err)
	}
	if _, err := get(t.Context(), "none"); !apierrors.IsNotFound(err) {
		t.Errorf("what is not there gives %v", err)
	}
	events, err := client.Objects(things, "").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer events.Stop()
	event := <-events.ResultChan()
	if object, ok := event.Object.(*Object); !ok || object.Name() != "odd" {
		t.Errorf("an odd event has %v", event.Object)
	}
}
