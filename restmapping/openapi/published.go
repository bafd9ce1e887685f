package openapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi"
)

const (
	// settleTime is how long a document may lag behind its CRD. kube-aggregator's OpenAPI v3 controller reads local
	// documents every second (staging/src/k8s.io/kube-aggregator/pkg/controllers/openapiv3); the rest is for a server
	// under load.
	settleTime = 10 * time.Second
	// recheckInterval is the shortest time between two reads of the index.
	recheckInterval = 500 * time.Millisecond
	// MissingInterval is how often the index is read for a kind without a schema.
	MissingInterval = time.Minute
)

// noSchemaError is the type of ErrNoSchema. Its method lets callers recognise the error without importing this package.
type noSchemaError struct{}

func (noSchemaError) Error() string { return "the API server has no schema" }

// NoSchema returns true.
func (noSchemaError) NoSchema() bool { return true }

// ErrNoSchema reports that the API server publishes no schema for the kind.
var ErrNoSchema error = noSchemaError{}

// ErrNotPublished reports that the schema of a kind is missing but may still appear: the API server publishes it a
// moment after it serves the kind.
var ErrNotPublished = errors.New("its schema is not published yet")

// Published has the schemas of requested group-versions. It is safe for concurrent use.
//
// The cluster bounds its memory: one entry for each group-version in use, without the document's text, and one time for
// each requested kind without a schema.
type Published struct {
	// client is nil for schemas that do not change.
	client openapi.ClientWithContext
	flight singleflight.Group
	// kinds shares equal parts of the kinds' schemas.
	kinds Pool

	mu sync.Mutex
	// entries has the loaded group-versions. Entries are immutable, apart from their caches. Guarded by mu.
	entries map[schema.GroupVersion]*entry
	// forgotten is when Forget was last called, for settleTime. Guarded by mu.
	forgotten map[schema.GroupVersion]time.Time
	// missed is when a kind without a schema was first requested. Guarded by mu.
	missed map[schema.GroupVersionKind]time.Time
	// index is the newest index, and indexed when it was read. Guarded by mu.
	index   map[string]openapi.GroupVersionWithContext
	indexed time.Time
}

// NewPublished returns Schemas that read from client.
func NewPublished(client openapi.ClientWithContext) *Published {
	return &Published{
		client:    client,
		entries:   map[schema.GroupVersion]*entry{},
		forgotten: map[schema.GroupVersion]time.Time{},
		missed:    map[schema.GroupVersionKind]time.Time{},
	}
}

// Converter returns the converter for gvk, from memory if possible. It is built from the schema with which the API
// server computes managedFields, and works in the same way. The error wraps ErrNoSchema if the server publishes no
// schema for gvk. Any other error reports that the schema could not be loaded, or is not published yet, and is worth a
// retry.
func (s *Published) Converter(ctx context.Context, gvk schema.GroupVersionKind) (managedfields.TypeConverter, error) {
	e, err := s.find(ctx, gvk)
	if err != nil {
		return nil, err
	}
	return e.converter, nil
}

// find returns the entry that has gvk. The errors are those of Converter.
func (s *Published) find(ctx context.Context, gvk schema.GroupVersionKind) (*entry, error) {
	gv := gvk.GroupVersion()
	maxAge := time.Duration(-1) // any age
	if s.Settling(gv) {
		maxAge = recheckInterval
	}
	e, err := s.load(ctx, gv, maxAge)
	if err != nil {
		return nil, err
	}
	if e.has(gvk) {
		s.found(gvk)
		return e, nil
	}
	if s.client == nil {
		return nil, fmt.Errorf("%w for %s", ErrNoSchema, gvk)
	}
	// The document may be older than the kind.
	first := s.missing(gvk)
	since := time.Since(first)
	maxAge = recheckInterval
	if e.checked.Sub(first) >= settleTime { // otherwise the document may have been published since it was read
		maxAge = MissingInterval
	}
	if e, err = s.load(ctx, gv, maxAge); err != nil {
		return nil, err
	}
	switch {
	case e.has(gvk):
		s.found(gvk)
		return e, nil
	case since < settleTime:
		return nil, fmt.Errorf("%s: %w", gvk, ErrNotPublished)
	default:
		return nil, fmt.Errorf("%w for %s", ErrNoSchema, gvk)
	}
}

// Forget reports that the kinds of gv changed. The next use checks their entry against the server, and so do later uses
// until the server has had time to publish the change.
func (s *Published) Forget(gv schema.GroupVersion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for other, at := range s.forgotten {
		if now.Sub(at) >= settleTime {
			delete(s.forgotten, other)
		}
	}
	s.forgotten[gv] = now
	if e, ok := s.entries[gv]; ok {
		s.entries[gv] = e.checkedAt(time.Time{}) // never
	}
	s.indexed = time.Time{}
}

// Recheck checks the entry of gv against the server, and loads it again if it changed; changed reports that. If the
// last check was less than half a second ago, it sends no request.
func (s *Published) Recheck(ctx context.Context, gv schema.GroupVersion) (changed bool, err error) {
	before := s.entry(gv)
	after, err := s.load(ctx, gv, recheckInterval)
	if err != nil {
		return false, err
	}
	return before == nil || before.url != after.url, nil
}

// Settling reports whether gv was forgotten so recently that the server may not have published the change yet.
func (s *Published) Settling(gv schema.GroupVersion) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.forgotten[gv]
	return ok && time.Since(at) < settleTime
}

// missing returns when gvk, which has no schema, was first requested.
func (s *Published) missing(gvk schema.GroupVersionKind) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.missed[gvk]
	if !ok {
		at = time.Now()
		s.missed[gvk] = at
	}
	return at
}

func (s *Published) found(gvk schema.GroupVersionKind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.missed, gvk)
}

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

// load returns the entry of gv. It reads from the server if there is none, or if it was last checked more than maxAge
// ago (a negative maxAge accepts any age). Concurrent callers share one read.
func (s *Published) load(ctx context.Context, gv schema.GroupVersion, maxAge time.Duration) (*entry, error) {
	e := s.entry(gv)
	if s.client == nil {
		return cmp.Or(e, &entry{}), nil
	}
	if e != nil && !e.checked.IsZero() && (maxAge < 0 || time.Since(e.checked) < maxAge) {
		return e, nil
	}
	if err := s.once(ctx, "document "+gv.String(), func() error { return s.refresh(ctx, gv) }); err != nil {
		return nil, fmt.Errorf("load the OpenAPI schema of %s: %w", gv, err)
	}
	return s.entry(gv), nil
}

func (s *Published) entry(gv schema.GroupVersion) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.entries[gv]
}

// once runs a read that concurrent callers share. If it fails only because the context of another caller, which led it,
// ended, it runs again.
func (s *Published) once(ctx context.Context, key string, read func() error) error {
	for {
		led := false
		_, err, _ := s.flight.Do(key, func() (any, error) {
			led = true
			return nil, read()
		})
		if led || ctx.Err() != nil || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
}

// refresh reads the index and, if the content hash changed, the document.
func (s *Published) refresh(ctx context.Context, gv schema.GroupVersion) error {
	index, at, err := s.readIndex(ctx)
	if err != nil {
		return err
	}
	next, old := &entry{checked: at}, s.entry(gv)
	if document, ok := index[indexKey(gv)]; ok {
		if old != nil && old.url == document.ServerRelativeURL() {
			next = old.checkedAt(at)
		} else if next, err = s.read(ctx, document, at); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[gv] = next
	return nil
}

// readIndex returns the index and when it was requested. Group-versions that are loaded together share one read.
func (s *Published) readIndex(ctx context.Context) (map[string]openapi.GroupVersionWithContext, time.Time, error) {
	err := s.once(ctx, "index", func() error {
		s.mu.Lock()
		isFresh := s.index != nil && time.Since(s.indexed) < recheckInterval
		s.mu.Unlock()
		if isFresh {
			return nil
		}
		at := time.Now()
		index, err := s.client.PathsWithContext(ctx)
		if err != nil {
			return fmt.Errorf("read the index /openapi/v3: %w", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.index, s.indexed = index, at
		return nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.index, s.indexed, err
}

func indexKey(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.Group + "/" + gv.Version
}

func (s *Published) read(ctx context.Context, document openapi.GroupVersionWithContext, at time.Time) (*entry, error) {
	url := document.ServerRelativeURL()
	text, err := document.SchemaWithContext(ctx, runtime.ContentTypeJSON)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", url, err)
	}
	e, err := s.kinds.entryOf(url, text, at)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", url, err)
	}
	return e, nil
}

// entryOf returns the entry of a document.
func (p *Pool) entryOf(url string, document []byte, at time.Time) (*entry, error) {
	components, err := decodeDocument(document)
	if err != nil {
		return nil, err
	}
	e := &entry{url: url, checked: at, known: &sync.Map{}}
	if e.converter, err = managedfields.NewTypeConverter(components, false); err != nil {
		return nil, fmt.Errorf("convert it: %w", err)
	}
	e.kinds, e.kindsErr = p.kindsOf(components)
	return e, nil
}
