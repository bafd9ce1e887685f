package openapi

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// entry is a group-version's document in the forms that are used, or the fact that there is none.
type entry struct {
	// url is the URL of the document, with the content hash. It is empty if the index does not have the group-version.
	url string
	// converter is nil if url is empty.
	converter managedfields.TypeConverter
	// known caches which kinds the converter knows, as bool by GVK.
	known *sync.Map
	// kinds has the schemas of the document's kinds; kindsErr is why they could not be read.
	kinds    Kinds
	kindsErr error
	// checked is when the index last had this url.
	checked time.Time
}

func (e *entry) checkedAt(at time.Time) *entry {
	other := *e
	other.checked = at
	return &other
}

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

// Kind returns the schema of whole objects of gvk, from memory if possible. It is from the same document as
// Converter's, in the form that rules are checked against. The errors are those of Converter.
func (s *Published) Kind(ctx context.Context, gvk schema.GroupVersionKind) (*Schema, error) {
	e, err := s.find(ctx, gvk)
	switch {
	case err != nil:
		return nil, err
	case e.kindsErr != nil:
		// A retry would not help: the document is the same.
		return nil, fmt.Errorf("%w of %s that can be understood: %w", ErrNoSchema, gvk, e.kindsErr)
	}
	if kind := e.kinds.Schema(gvk); kind != nil {
		return kind, nil
	}
	return nil, fmt.Errorf("%w of objects with metadata for %s", ErrNoSchema, gvk)
}
