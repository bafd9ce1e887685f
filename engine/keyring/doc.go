// Package keyring holds the keys by which Kanon proves that it wrote what it reads.
//
// Labels and annotations can be copied, and anybody who may write an object may put any text into them. So whatever Kanon
// acts on without asking anybody else carries a seal: a keyed digest of a statement, under a key that only Kanon can read.
//
//	store := keyring.NewStore(keyring.Options{Client: client, Namespace: "kanon-system", …})
//	go store.Run(ctx)
//	// ... once changed was called
//	ring := store.Keyring()
//	seal := ring.Seal("the rule 0c41 made ConfigMap team-a/front")
//	ring.Check("the rule 0c41 made ConfigMap team-a/front", seal) // Current
//
// A [Keyring] is a value: it does no input or output. A [Store] keeps one in a Secret of Kanon's namespace, which it makes
// at the first start. The annotation [AnnotationRotate] on that Secret asks for a new key. Older keys still prove what was
// sealed by them, until somebody takes them out of the Secret.
package keyring
