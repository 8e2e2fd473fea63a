// Package stream reads the streams that model servers send and gathers a reply
// from their pieces.
package stream
