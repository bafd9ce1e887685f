package keyring

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"kanon.dev/kanon/engine/queue"
)

// writeTimeout bounds one write.
const writeTimeout = 30 * time.Second

// Options configures a Store. All are required.
type Options struct {
	Client dynamic.Interface
	// Namespace is Kanon's own namespace.
	Namespace string
	// MakeNamespace creates that namespace. It is called if it does not exist.
	MakeNamespace func(ctx context.Context) error
	// Restored is called from Run when the Secret had been deleted and was recreated.
	Restored func()
	// MayWrite reports whether this store may write the Secret; call Retry when that changes.
	MayWrite func() bool
	// Changed is called from Run when the keys or the failure changed. Keyring returns the same pointer as long as
	// the keys are the same.
	Changed func()
}

// Store keeps a ring in a Secret. Only Run sends requests.
type Store struct {
	options Options
	// bell rings while there is something to do.
	bell *queue.Bell

	mu sync.Mutex
	// ring is the newest ring that could be read, and failure says why there is none newer. Guarded by mu.
	ring    *Keyring
	failure error
}

// NewStore returns a store that has read nothing yet.
func NewStore(options Options) *Store {
	return &Store{options: options, bell: queue.NewBell(nil)}
}

// Keyring returns the newest ring; nil until one was read.
func (s *Store) Keyring() *Keyring {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ring
}

// Retry has Run reconcile the Secret, for example because it may write now.
func (s *Store) Retry() { s.bell.Ring() }

// Failure returns why the Secret could not be read or written last; nil if that succeeded.
func (s *Store) Failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure
}

// Run reads the Secret, creates it if it does not exist, and watches it until ctx ends. If the Secret is deleted, Run
// recreates it with the same keys. A Secret that cannot be decoded leaves the keys unchanged.
func (s *Store) Run(ctx context.Context) {
	informer := dynamicinformer.NewFilteredDynamicInformer(s.options.Client, secretsResource(), s.options.Namespace, 0, cache.Indexers{},
		func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", SecretName).String()
		}).Informer()
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { s.bell.Ring() }, UpdateFunc: func(any, any) { s.bell.Ring() }, DeleteFunc: func(any) { s.bell.Ring() },
	}
	// Both fail only once an informer has started.
	_ = informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *cache.Reflector, err error) { s.fail(ctx, err) })
	_, _ = informer.AddEventHandler(handler)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return
	}
	retries := queue.Retries{Limits: queue.Limits{First: time.Second, Max: time.Minute}}
	s.bell.Loop(ctx, 0, func() time.Duration {
		err := s.reconcile(ctx, informer.GetStore())
		if err != nil {
			s.fail(ctx, err)
		}
		return retries.Next(err == nil)
	})
}

// reconcile takes in the Secret in the informer's store. It creates the Secret if missing, and rotates the keys if
// that was asked for.
func (s *Store) reconcile(ctx context.Context, known cache.Store) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	item, found, err := known.GetByKey(s.options.Namespace + "/" + SecretName)
	if err != nil {
		return err
	}
	secret, _ := item.(*unstructured.Unstructured)
	mayWrite := s.options.MayWrite()
	if !found || secret == nil {
		if !mayWrite {
			return nil
		}
		return s.make(ctx)
	}
	ring, err := fromSecret(secret)
	if err != nil {
		return fmt.Errorf("read Secret %s/%s: %w; restore it, or delete it to have a new key made", s.options.Namespace, SecretName, err)
	}
	if !wantsRotation(secret) || !mayWrite {
		s.take(ctx, ring)
		return nil
	}
	rotated, err := ring.rotated(secret)
	if err != nil {
		return err
	}
	if _, err = s.secrets().Update(ctx, rotated, metav1.UpdateOptions{FieldManager: manager}); err != nil {
		return fmt.Errorf("rotate the keys in Secret %s/%s: %w", s.options.Namespace, SecretName, err)
	}
	logr.FromContextOrDiscard(ctx).Info("made a new key, as was asked for", "secret", SecretName)
	return nil // the event of the update brings the ring
}

// manager is the field manager of the Secret.
const manager = "kanon-keys"

// make creates the Secret, with the known keys or with a new one. If somebody else created it meanwhile, that one is
// used.
func (s *Store) make(ctx context.Context) error {
	ring, lost := s.Keyring(), true
	if ring == nil {
		var err error
		if ring, err = Generate(); err != nil {
			return err
		}
		lost = false
	}
	create := func() (*unstructured.Unstructured, error) {
		return s.secrets().Create(ctx, ring.newSecretObject(s.options.Namespace), metav1.CreateOptions{FieldManager: manager})
	}
	created, err := create()
	if apierrors.IsNotFound(err) { // the namespace is missing
		if err = s.options.MakeNamespace(ctx); err == nil {
			created, err = create()
		}
	}
	if apierrors.IsAlreadyExists(err) {
		return nil // its event follows
	}
	if err != nil {
		return fmt.Errorf("create Secret %s/%s: %w", s.options.Namespace, SecretName, err)
	}
	if ring, err = fromSecret(created); err != nil {
		return err
	}
	logr.FromContextOrDiscard(ctx).Info("made the Secret that holds the keys", "secret", SecretName, "replacesDeleted", lost)
	s.take(ctx, ring)
	if lost {
		s.options.Restored()
	}
	return nil
}

// take makes a ring the newest one.
func (s *Store) take(ctx context.Context, ring *Keyring) {
	s.mu.Lock()
	same := s.ring != nil && s.ring.equal(ring)
	recovered := s.failure != nil
	if !same {
		s.ring = ring
	}
	s.failure = nil
	s.mu.Unlock()
	if recovered {
		logr.FromContextOrDiscard(ctx).Info("the keys can be read again")
	}
	if !same || recovered {
		s.options.Changed()
	}
}

// fail records why there is no newer ring. It logs each reason once.
func (s *Store) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	s.mu.Lock()
	before := s.failure
	s.failure = err
	loaded := s.ring != nil
	s.mu.Unlock()
	if before != nil && before.Error() == err.Error() {
		return
	}
	logr.FromContextOrDiscard(ctx).Error(err, "the keys that prove what Kanon wrote cannot be read; retrying", "goesOnWithKnownKeys", loaded)
	s.options.Changed()
}

func (s *Store) secrets() dynamic.ResourceInterface {
	return s.options.Client.Resource(secretsResource()).Namespace(s.options.Namespace)
}

func secretsResource() schema.GroupVersionResource {
	return corev1.SchemeGroupVersion.WithResource("secrets")
}
