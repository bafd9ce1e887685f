package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Watches knows what the watches of clients have delivered, so that a test can wait until they are up to date: that
// nothing happens before proves nothing. The clients must list through their watches (sendInitialEvents), as
// client-go's informers do.
type Watches struct {
	server *http.Client
	host   string

	mu sync.Mutex
	// open are the watches that have not ended. Guarded by mu.
	open map[*watchedBody]bool
	// ended has the objects of ended watches, by the collection and the version at which another watch continues.
	// Guarded by mu.
	ended map[string]map[types.UID]uint64
}

// NewWatches makes a Watches that follows nothing yet. It lists with config.
func NewWatches(config *rest.Config) (*Watches, error) {
	server, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	host, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	return &Watches{
		server: server, host: host.Scheme + "://" + host.Host,
		open: make(map[*watchedBody]bool), ended: make(map[string]map[types.UID]uint64),
	}, nil
}

// Follow follows the watches of clients that are made from config from now on.
func (w *Watches) Follow(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			query := r.URL.Query()
			if err == nil && response.StatusCode == http.StatusOK && query.Get("watch") != "" {
				response.Body = w.follow(response.Body, r.URL.Path, query)
			}
			return response, err
		})
	})
}

// follow begins to follow a watch.
func (w *Watches) follow(body io.ReadCloser, path string, query url.Values) *watchedBody {
	selectors := url.Values{"labelSelector": query["labelSelector"], "fieldSelector": query["fieldSelector"]}
	b := &watchedBody{
		ReadCloser: body, watches: w, collection: path + "?" + selectors.Encode(),
		listing: query.Get("sendInitialEvents") == "true",
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b.objects = maps.Clone(w.ended[b.collection+"@"+query.Get("resourceVersion")])
	if b.objects == nil {
		b.objects = make(map[types.UID]uint64)
	}
	w.open[b] = true
	return b
}

// Await waits until every open watch has delivered the current state of the API server. It is for clients that do not
// wait for another watch to begin.
func (w *Watches) Await(ctx context.Context) error {
	w.mu.Lock()
	open := maps.Clone(w.open)
	w.mu.Unlock()
	group, ctx := errgroup.WithContext(ctx)
	for b := range open {
		group.Go(func() error {
			now, err := w.list(ctx, b.collection)
			if err != nil {
				return err
			}
			for now != nil && !w.hasBrought(b, now) {
				select {
				case <-ctx.Done():
					return fmt.Errorf("a watch of %s is behind: %w", b.collection, ctx.Err())
				case <-time.After(5 * time.Millisecond): // until the watch delivers more
				}
			}
			return nil
		})
	}
	return group.Wait()
}

func (w *Watches) hasBrought(b *watchedBody, now *metadataList) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.open[b] {
		return true
	}
	listed := make(map[types.UID]bool, len(now.Items))
	for _, item := range now.Items {
		listed[item.Metadata.UID] = true
		if b.listing || b.newest < item.Metadata.version() {
			return false
		}
	}
	for uid, version := range b.objects {
		if !listed[uid] && version <= now.Metadata.version() {
			return false // the watch has not reported its deletion
		}
	}
	return true
}

// list lists a collection; nil if the API server no longer has the kind, or does not allow it.
func (w *Watches) list(ctx context.Context, collection string) (*metadataList, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.host+collection, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1")
	response, err := w.server.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, nil
	}
	list := &metadataList{}
	return list, json.NewDecoder(response.Body).Decode(list)
}

type metadataList struct {
	Metadata metadata
	Items    []struct{ Metadata metadata }
}

type metadata struct {
	UID             types.UID
	ResourceVersion string
}

func (m metadata) version() uint64 {
	version, _ := strconv.ParseUint(m.ResourceVersion, 10, 64)
	return version
}

// watchedBody is the body of a watch. It records what is read from it.
type watchedBody struct {
	io.ReadCloser

	watches    *Watches
	collection string
	// line is the beginning of an event that is not complete yet.
	line []byte
	// objects are those that the watch has delivered, with their versions, and newest is the version that it has
	// reached. listing is true until the initial events are complete. All three are guarded by the mutex of Watches.
	objects map[types.UID]uint64
	newest  uint64
	listing bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.line = append(b.line, p[:n]...)
	for {
		line, rest, found := bytes.Cut(b.line, []byte("\n"))
		if !found {
			break
		}
		b.take(line)
		b.line = rest
	}
	if err != nil {
		b.end()
	}
	return n, err
}

// take records one event.
func (b *watchedBody) take(line []byte) {
	var event struct {
		Type   string
		Object struct{ Metadata metadata }
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return
	}
	b.watches.mu.Lock()
	defer b.watches.mu.Unlock()
	of := event.Object.Metadata
	switch event.Type {
	case "ADDED", "MODIFIED":
		b.objects[of.UID] = of.version()
	case "DELETED":
		delete(b.objects, of.UID)
	case "BOOKMARK":
		b.listing = false
	}
	b.newest = max(b.newest, of.version())
}

func (b *watchedBody) Close() error {
	b.end()
	return b.ReadCloser.Close()
}

func (b *watchedBody) end() {
	b.watches.mu.Lock()
	defer b.watches.mu.Unlock()
	delete(b.watches.open, b)
	b.watches.ended[fmt.Sprintf("%s@%d", b.collection, b.newest)] = b.objects
}
