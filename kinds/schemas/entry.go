package schemas

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"kanon.dev/kanon/kinds/openapi"
)

// kindPool shares the schemas of kinds among documents.
type kindPool = openapi.Pool

// entry is one group-version's document in the forms that are used, or the knowledge that there is none.
type entry struct {
	// url is where the document was read; it contains the content hash. Empty: the index has no such group-version.
	url string
	// converter is nil when url is empty.
	converter managedfields.TypeConverter
	// known remembers which kinds converter knows, as bool by GVK.
	known *sync.Map
	// kinds has the schemas of the document's kinds, or kindsErr says why they could not be read.
	kinds    openapi.Kinds
	kindsErr error
	// checked is when the index was last known to name this url.
	checked time.Time
}

// checkedAt is the same knowledge, checked at another time.
func (e *entry) checkedAt(at time.Time) *entry {
	other := *e
	other.checked = at
	return &other
}

// has says whether the document knows the kind.
func (e *entry) has(gvk schema.GroupVersionKind) bool {
	if e.converter == nil {
		return false
	}
	if known, ok := e.known.Load(gvk); ok {
		return known == true
	}
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(gvk)
	_, err := e.converter.ObjectToTyped(bare)
	e.known.Store(gvk, err == nil) // every published kind has apiVersion and kind, so only an unknown type fails
	return err == nil
}

// Kind returns the schema of whole objects of gvk, from memory where it can: the same document as Converter's, in the
// form that rules are checked against. The errors are those of Converter.
func (s *Schemas) Kind(ctx context.Context, gvk schema.GroupVersionKind) (*openapi.Schema, error) {
	e, err := s.find(ctx, gvk)
	switch {
	case err != nil:
		return nil, err
	case e.kindsErr != nil:
		// The same document will not read otherwise.
		return nil, fmt.Errorf("%w of %s that can be understood: %w", ErrNoSchema, gvk, e.kindsErr)
	}
	if kind := e.kinds.Schema(gvk); kind != nil {
		return kind, nil
	}
	return nil, fmt.Errorf("%w of objects with metadata for %s", ErrNoSchema, gvk)
}
