/** Who invited, in words: a member by e-mail, or whoever runs this installation. */
export const inviterName = (invitedBy: string): string =>
  invitedBy.includes('@') ? invitedBy : 'an operator';
