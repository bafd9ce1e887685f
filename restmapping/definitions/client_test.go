package definitions_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/restmapping/definitions"
)

// All pages of a list are read. A kind that is not served has no objects, unless its definition says that it is.
func TestObjects(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		page := map[string]string{"": "a", "next": "b"}[r.URL.Query().Get("continue")]
		if r.URL.Path != "/apis/example.com/v1/walls" || r.URL.Query().Get("limit") == "" || page == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		more := map[string]string{"a": "next", "b": ""}[page]
		_, _ = fmt.Fprintf(w, `{"apiVersion":"example.com/v1","kind":"WallList","metadata":{"continue":%q},"items":[{"apiVersion":"example.com/v1","kind":"Wall","metadata":{"name":%q}}]}`, more, page)
	}))
	t.Cleanup(server.Close)
	client, err := dynamic.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	read := func(definition *unstructured.Unstructured) (names []string, err error) {
		t.Helper()
		compared, err := definitions.Compare(definition, definition)
		if err != nil {
			t.Fatal(err)
		}
		err = definitions.Client{Interface: client}.Objects(t.Context(), compared, func(object *unstructured.Unstructured) error {
			names = append(names, object.GetName())
			return nil
		})
		return names, err
	}
	definition := keeperWalls(t, "", "Namespaced", "color: {type: string}")
	if names, err := read(definition); err != nil || !slices.Equal(names, []string{"a", "b"}) {
		t.Errorf("the objects are %q (%v)", names, err)
	}
	if err := unstructured.SetNestedField(definition.Object, "fences", "spec", "names", "plural"); err != nil {
		t.Fatal(err)
	}
	if _, err := read(definition); !apierrors.IsNotFound(err) {
		t.Errorf("the kind should be served, and is not: %v", err)
	}
	unstructured.RemoveNestedField(definition.Object, "status")
	if names, err := read(definition); err != nil || len(names) > 0 {
		t.Errorf("a kind that is not served has %q (%v)", names, err)
	}
}
