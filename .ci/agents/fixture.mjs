// What every contender holds before it is measured, and the ten tasks. The same words for all: a library with three stories.
export const EPIC = "Library";
export const STORIES = [
  {
    title: "Borrow a book",
    criteria: ["WHEN a valid card is shown THEN the desk SHALL lend the book", "IF the card is blocked THEN the desk SHALL refuse and name the reason", "WHEN a book is lent THEN the desk SHALL print a slip"],
    requirements: [
      ["Check the card", "The desk MUST check a card against the register before it lends."],
      ["Print the slip", "The slip MUST show title, card and the day the book is due."],
      ["Refuse blocked cards", "A blocked card MUST be refused with the reason in words."],
      ["Lend without network", "The desk MUST lend for an hour while the register cannot be reached."],
    ],
  },
  {
    title: "Return a book",
    criteria: ["WHEN a book is put into the slot THEN the loan SHALL end", "IF the book is late THEN a fee SHALL be booked", "WHEN a book is damaged THEN staff SHALL be told"],
    requirements: [
      ["End the loan", "The loan MUST end within a second after the slot read the book."],
      ["Book the fee", "The fee MUST be ten cents for each day, at most five."],
      ["Report damage", "A damaged book MUST be taken out of lending until staff looked at it."],
      ["Sort the returns", "Returned books MUST be told apart by shelf."],
    ],
  },
  {
    title: "Be reminded",
    criteria: ["WHEN a book is due in two days THEN its borrower SHALL be reminded", "IF the mail bounces THEN the next visit SHALL show the reminder", "WHEN a reminder is sent THEN it SHALL name the day"],
    requirements: [
      ["Send overdue reminders", "Overdue reminders MUST be sent at eight in the morning of the borrower."],
      ["Show bounced reminders", "A bounced reminder MUST be shown at the next visit."],
      ["Name the day", "A reminder MUST name the day in the language of the borrower."],
      ["Stop when returned", "No reminder MUST be sent for a book that was returned."],
    ],
  },
];
// "Refuse blocked cards" and "Print the slip" wait for "Check the card".
export const DEPENDENCIES = [["Refuse blocked cards", "Check the card"], ["Print the slip", "Check the card"]];
export const COMMENT = "Which languages does the reason need?";
export const TREE = {
  title: "Reserve a book",
  criteria: ["WHEN a lent book is reserved THEN it SHALL be kept for the next borrower", "IF nobody fetches it in three days THEN it SHALL be free again"],
  requirements: [["Queue reservations", "Reservations MUST be served in the order they came."], ["Tell the borrower", "Whoever is next MUST be told within a minute."]],
};
export const PLAN = `# Rooms\n## Book a room\n- WHEN a room is free THEN the desk SHALL book it\n- IF two ask at once THEN the first SHALL get it\n- A booking MUST last two hours at most.\n- A booking MUST end when nobody comes for ten minutes.\n## Cancel a room\n- WHEN a booking is cancelled THEN the room SHALL be free\n- Cancelling MUST be possible until the booking begins.\n`;
export const JUNIT = '<testsuites><testsuite name="desk"><testcase classname="desk" name="refuses_a_blocked_card"><properties><property name="requirement" value="ID"/></properties></testcase></testsuite></testsuites>';
export const TASKS = ["find", "read context", "create tree", "link", "next", "evidence", "impact", "review difference", "import", "resolve conflict"];
