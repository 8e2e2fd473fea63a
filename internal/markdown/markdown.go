// Package markdown reads CommonMark once and gives the pieces that the rest of
// the program cuts by: headings, sections, lists, tables, links, code blocks.
package markdown
