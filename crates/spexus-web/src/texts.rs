//! Every word the pages say, in both languages: one table, and a text without its translation does not compile. `{}` stands for
//! what is put in by [`fill`].

//= specs/spexus-web.md#languages
//# Every text of a page MUST exist in every language, with the same places for values.
macro_rules! texts {
    ($($name:ident: $english:literal, $russian:literal;)*) => {
        /// The texts of one language.
        #[derive(Debug)]
        pub(crate) struct Texts {
            $(pub(crate) $name: &'static str,)*
        }

        /// In English.
        pub(crate) static ENGLISH: Texts = Texts { $($name: $english,)* };

        /// In Russian.
        pub(crate) static RUSSIAN: Texts = Texts { $($name: $russian,)* };

        #[cfg(test)]
        const TABLE: &[(&str, &str, &str)] = &[$((stringify!($name), $english, $russian),)*];
    };
}

#[rustfmt::skip]
texts! {
    // The frame
    skip: "Skip to content", "К содержанию";
    main_navigation: "Main", "Главное";
    where_you_are: "Where you are", "Где вы";
    menu: "Menu", "Меню";
    home: "Home", "Начало";
    search_or_command: "Search or run a command", "Поиск или команда";
    change_theme: "Change theme", "Сменить тему";
    profile_of: "{}: profile", "{}: профиль";
    sign_out: "Sign out", "Выйти";
    administration: "Administration", "Управление";
    connect_agent: "Connect an agent", "Подключить агента";
    overview: "Overview", "Обзор";
    document: "Document", "Документ";
    tree: "Tree", "Дерево";
    board: "Board", "Доска";
    table: "Table", "Таблица";
    matrix: "Matrix", "Матрица";
    graph: "Graph", "Граф";
    baselines: "Baselines", "Базовые версии";
    connection_lost: "The connection is lost. Trying again; nothing you typed is lost.", "Связь потеряна. Пробуем снова; введённое не пропадёт.";
    slow: "This takes longer than usual.", "Это длится дольше обычного.";

    // Signing in
    sign_in: "Sign in", "Войти";
    user_name: "User name", "Имя пользователя";
    password: "Password", "Пароль";
    lead: "What the product must do, and the proof that it does.", "Что продукт обязан делать, и доказательства, что он это делает.";
    signed_out: "You are signed out. What you typed is kept in this browser and will be there.", "Вы вышли. Введённое сохранено в этом браузере и будет на месте.";
    language: "Language", "Язык";
    version: "Spexus {}, your own server", "Spexus {}, ваш сервер";

    // When something is not possible
    not_possible: "This is not possible", "Так нельзя";
    refusal_number: "Refusal {}", "Отказ {}";
    back_home: "Back to the beginning", "К началу";

    // Kinds and fields
    epic: "Epic", "Эпик";
    user_story: "User story", "История";
    acceptance_criterion: "Acceptance criterion", "Критерий приёмки";
    requirement: "Requirement", "Требование";
    steering_document: "Steering document", "Руководящий документ";
    epics: "Epics", "Эпики";
    user_stories: "User stories", "Истории";
    acceptance_criteria: "Acceptance criteria", "Критерии приёмки";
    requirements: "Requirements", "Требования";
    steering_documents: "Steering documents", "Руководящие документы";
    status: "Status", "Статус";
    priority: "Priority", "Приоритет";
    requirement_type: "Type", "Тип";
    owner: "Owner", "Ответственный";
    revision: "Revision", "Ревизия";
    made: "Made", "Создано";
    nobody: "Nobody", "Никто";
    kind: "Kind", "Вид";
    critical: "Critical", "Критический";
    high: "High", "Высокий";
    medium: "Medium", "Средний";
    low: "Low", "Низкий";

    title: "Title", "Название";
    text: "Text", "Текст";

    // Time
    today: "today {}", "сегодня {}";
    yesterday: "yesterday {}", "вчера {}";
    months: "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec", "янв фев мар апр мая июн июл авг сен окт ноя дек";

    // Home and projects
    projects: "Projects", "Проекты";
    no_project: "There is no project you are a member of.", "Нет проектов, в которых вы участвуете.";

    // Traceability
    proved_of: "{} of {} are {} or better", "{} из {}: {} или выше";
    demanded: "Demanded", "Требуется";
    evidence: "Evidence", "Доказательства";
    what_next: "What is missing", "Чего не хватает";
    no_evidence: "Nothing is known yet", "Пока ничего не известно";
    push_evidence: "Quote requirements beside the code that fulfils them, name them in tests, and push what a run reported:", "Цитируйте требования рядом с кодом, называйте их в тестах и присылайте отчёт о запуске:";
    nothing_lacks: "No requirement stands below this.", "Ниже этого требований нет.";
    rung_none: "none", "нет";
    rung_specified: "specified", "описано";
    rung_cited: "cited", "цитируется";
    rung_claimed: "claimed", "заявлено";
    rung_ran: "ran", "запускалось";
    rung_passed: "passed", "пройдено";
    rung_executed: "executed", "исполнено";
    rung_affirmed: "affirmed", "подтверждено";
    flag_failed: "failed", "провал";
    flag_vanished: "vanished", "исчез";
    flag_stale: "stale", "устарело";
    flag_skipped: "skipped", "пропущен";
    flag_waived: "waived", "освобождено";
    traceability: "Traceability", "Трассировка";
    why_not_verified: "Why is this not verified?", "Почему это не проверено?";
    why_verified: "Why is this verified?", "Почему это проверено?";
    what_to_do: "What to do next", "Что делать дальше";
    some_of_all: "{} of {}", "{} из {}";
    places_ran: "Passing tests ran {} of {} places", "Пройденные тесты исполнили мест: {} из {}";
    test_flaky: "failed, then passed", "сначала провал, потом пройден";
    test_not_run: "not run", "не запускался";
    test_dirty: "ran on a tree with changes", "запускался на изменённом дереве";
    test_reported: "reported by an agent", "со слов агента";
    test_ambiguous: "fits several tests", "подходит к нескольким тестам";
    timeline: "From commit to commit", "От коммита к коммиту";
    timeline_says: "From {} of {} to {} of {} over {} commits", "С {} из {} до {} из {} за {} коммитов";
    commit: "Commit", "Коммит";
    reckoned: "When", "Когда";
    reached: "Reached", "Достигли";

    // Table
    creator: "Made by", "Автор";
    links: "Links", "Связи";
    all_items: "All items", "Всё";
    reference: "Ref", "Номер";
    belongs_to: "Belongs to", "Входит в";
    words: "Words", "Слова";
    nothing: "none", "нет";
    filter: "Filter", "Фильтр";
    filters: "Filters", "Фильтры";
    remove_filter: "Remove filter: {}", "Убрать фильтр: {}";
    sort_by: "Sort by", "Порядок";
    group_by: "Group by", "Группы";
    no_groups: "No groups", "Без групп";
    columns: "Columns", "Столбцы";
    show: "Show", "Показать";
    order_made: "Made, oldest first", "Создано, сначала старые";
    order_newest: "Made, newest first", "Создано, сначала новые";
    order_changed: "Changed, newest first", "Изменено, сначала новые";
    order_priority: "Priority", "По приоритету";
    order_title: "Title", "По названию";
    order_status: "Status", "По статусу";
    items_counted: "{} items", "Всего: {}";
    items_shown: "{} on this page", "На странице: {}";
    at_least: "at least {}", "не меньше {}";
    nothing_here: "Nothing fits these filters.", "Под эти фильтры ничего не подходит.";
    pages: "Pages", "Страницы";
    first_page: "First page", "Первая страница";
    next_page: "Next page", "Следующая страница";
    select_all: "Select all on this page", "Выбрать всё на странице";
    change_selected: "Change selected rows", "Изменить выбранные строки";
    field: "Field", "Поле";
    to: "to", "на";
    paste_column: "Paste a column", "Вставить столбец";
    one_value_a_line: "One value a line, for the selected rows from the top", "По значению в строке, для выбранных строк сверху вниз";
    preview: "Preview", "Предпросмотр";
    preview_of: "Preview: {}", "Предпросмотр: {}";
    rows_would_change: "Rows to be changed: {}", "Изменится строк: {}";
    rows_refused: "Rows that cannot be changed: {}", "Нельзя изменить строк: {}";
    change_rows: "Change rows: {}", "Изменить строк: {}";
    not_tried: "not tried: too many others are at fault", "не проверено: слишком много ошибок до этого";
    change_field: "Change: {}", "Изменить: {}";
    field_of: "{} of {}", "{} у {}";
    no_step: "no step leads there", "нет такого шага";
    save: "Save", "Сохранить";
    leave_it: "Leave as it was", "Оставить как было";
    stale_cell: "Not saved, because somebody was quicker: {}. What you entered is still here; saving again puts it over revision {}.", "Не сохранено, кто-то успел раньше: {}. Введённое осталось здесь; повторное сохранение заменит ревизию {}.";
    cell_saved: "{}: {} saved as revision {}", "{}: {} — сохранена ревизия {}";
    rows_changed: "Rows changed: {} ({})", "Изменено строк: {} ({})";
    undo: "Undo", "Отменить";

    // Tree and board
    contents: "Contents", "Содержимое";
    open_item: "Open the item", "Открыть";
    open_or_close: "Open or close", "Раскрыть или закрыть";
    move_node: "Move", "Переместить";
    move_of: "Move {}", "Переместить {}";
    move_up: "Up", "Выше";
    move_down: "Down", "Ниже";
    move_into: "into", "в";
    all_of: "All of {}", "Всё в {}";
    nothing_inside: "There is nothing inside yet.", "Здесь пока ничего нет.";
    change_status: "Change the status", "Изменить статус";
    no_step_from: "No step leads here from {}.", "Сюда нет шага из статуса {}.";
    all_in_table: "All of them in the table", "Все — в таблице";

    // Search, palette and keys
    search: "Search", "Поиск";
    all_projects: "All projects", "Все проекты";
    comment: "Comment", "Комментарий";
    more_here: "More from this project", "Ещё из этого проекта";
    nothing_found: "Nothing was found.", "Ничего не найдено.";
    how_to_search: "Words, beginnings of words, \"phrases in quotes\", or a reference such as REQ-012.", "Слова, начала слов, «фразы» в прямых кавычках или номер, например REQ-012.";
    items: "Items", "Элементы";
    go_to: "Go to", "Перейти";
    own_settings: "Profile and settings", "Профиль и настройки";
    on_this_page: "On this page", "На этой странице";
    all_keys: "All keys", "Все клавиши";
    keys_anywhere: "Anywhere", "Везде";
    keys_rows: "In lists and tables", "В списках и таблицах";
    keys_cell: "In a cell", "В ячейке";
    key_next: "Next, previous", "Следующий, предыдущий";
    key_select: "Select; extend", "Выбрать; продолжить выбор";
    key_edit: "Edit", "Изменить";
    key_fields: "Status, priority, type, owner", "Статус, приоритет, тип, ответственный";
    key_create: "Create here", "Создать здесь";
    key_link: "Link", "Связать";
    key_next_cell: "Save and go to the next cell", "Сохранить и в следующую ячейку";
    key_fill: "Fill down", "Заполнить вниз";
    key_move: "Move into another container", "Переместить в другое место";

    // Matrix and graph
    rows: "Rows", "Строки";
    link: "Link", "Связь";
    any_link: "any", "любая";
    linked: "linked", "связано";
    suspect: "suspect", "под сомнением";
    suspect_link: "suspect link", "сомнительная связь";
    only_gaps: "Only gaps and suspects", "Только пропуски и сомнительные";
    kinds_by_kinds: "{} by {}", "{} и {}";
    matrix_size: "{} of {} rows, {} columns", "Строк: {} из {}, столбцов: {}";
    matrix_cut: "There are more links than one page shows; ask for fewer rows.", "Связей больше, чем помещается на странице; возьмите меньше строк.";
    columns_cut: "Columns that did not fit: {}. Choose a part of the project, or fewer rows.", "Не поместилось столбцов: {}. Выберите часть проекта или меньше строк.";
    turn_matrix: "Swap rows and columns", "Поменять строки и столбцы";
    sum_with_suspect: "{}, suspect: {}", "{}, под сомнением: {}";
    no_link: "No link. Add one", "Связи нет. Добавить";
    confirm_link: "It still holds", "По-прежнему верно";
    end_link: "End the link", "Убрать связь";
    add_link: "Add a link", "Добавить связь";
    back_to_matrix: "Back to the matrix", "К матрице";
    no_links_here: "There is no link.", "Связей нет.";
    around: "Around {}", "Вокруг {}";
    from_item: "From", "От";
    steps: "Steps", "Шаги";
    because: "Because", "Потому что";
    same_as_list: "The same as a list", "То же списком";
    way_both: "both", "и то и другое";
    way_in: "what points to it", "что на него указывает";
    way_out: "what it points to", "на что он указывает";
    layer_self: "This item", "Этот элемент";
    layer_in: "Points to it, steps: {} ({})", "Указывают на него, шагов: {} ({})";
    layer_out: "Pointed to, steps: {} ({})", "Он указывает, шагов: {} ({})";
    steps_in: "{} towards it", "{} к нему";
    steps_out: "{} from it", "{} от него";
    graph_cut: "There is more than 200 items around; take fewer steps or one type of link.", "Вокруг больше 200 элементов; возьмите меньше шагов или один тип связи.";
    graph_begin: "Name the item to begin with; an item's page leads here too.", "Назовите элемент, с которого начать; сюда ведёт и страница элемента.";

    // Item
    edit: "Edit", "Изменить";
    edit_item: "Edit {}", "Изменить {}";
    new_item: "New: {}", "Создать: {}";
    create: "Create", "Создать";
    delete: "Delete", "Удалить";
    save_as: "Save as revision {}", "Сохранить как ревизию {}";
    move_on: "Change the status", "Сменить статус";
    not_from: "not from {}", "не из {}";
    no_text: "There is no text yet.", "Текста пока нет.";
    part_of: "Part of", "Часть";
    optional: "can be left out", "можно опустить";
    choose: "Choose", "Выберите";
    none: "None", "Нет";
    yes: "Yes", "Да";
    no: "No", "Нет";
    add_attribute: "Add an attribute", "Добавить атрибут";
    attribute_name: "Its name", "Имя атрибута";
    attribute_value: "Its value", "Значение";
    more: "{} more", "Ещё {}";
    shown_of: "{} of {} are shown here.", "Показано {} из {}.";
    where_it_stands: "Where it stands", "Где это находится";
    show_in_document: "Show in the document", "Показать в документе";
    show_graph: "Show as graph", "Показать графом";

    // Links
    relation: "Relation", "Отношение";
    state: "State", "Состояние";
    link_item: "Link {}", "Связать {}";
    how_linked: "What {} is to the other", "Чем {} приходится другому";
    what_to: "What to", "С чем";
    words_or_reference: "Words, or a reference such as REQ-012", "Слова или номер, например REQ-012";
    found: "Found", "Найдено";
    hidden_links: "{} more lead to projects you cannot see.", "Ещё {} ведут в проекты, которых вы не видите.";

    // Comments
    comments: "Comments", "Комментарии";
    open_threads: "{} open", "открыто {}";
    settled: "settled", "решено";
    settle: "Settle", "Решено";
    reopen: "Open again", "Открыть снова";
    answer: "Answer", "Ответить";
    write_comment: "Write a comment", "Написать комментарий";
    about_words: "About certain words of the text", "О конкретных словах текста";
    exact_words: "The words, exactly as they stand", "Слова точно как в тексте";
    words_gone: "these words are gone", "этих слов больше нет";

    // History
    history: "History", "История изменений";
    history_of: "History of {}", "История {}";
    whole_history: "The whole history", "Вся история";
    back_to: "Back to {}", "Назад к {}";
    older: "Older", "Раньше";
    as_revision: "revision {}", "ревизия {}";
    made_it: "made it", "создание";
    moved_it: "moved it", "перемещение";
    changed_fields: "changed: {}", "изменения: {}";
    deleted_it: "deleted it", "удаление";
    restored_it: "brought it back", "восстановление";
    confirmed_link: "confirmed the link: {}", "связь подтверждена: {}";
    ended_link: "ended the link: {}", "связь убрана: {}";
    commented: "commented", "комментарий";
    edited_comment: "changed a comment", "комментарий изменён";
    removed_comment: "removed a comment", "комментарий удалён";
    touched: "changed {}", "изменение: {}";

    // Deleting
    delete_item: "Delete {}?", "Удалить {}?";
    delete_all: "Delete {} items", "Удалить, всего {}";
    items_fall: "items fall", "элементов будет удалено";
    links_end: "links end", "связей исчезнет";
    comments_go: "comments go with them", "комментариев уйдёт с ними";
    falls_with_it: "Falls with it", "Будет удалено вместе";
    lose_criterion: "These requirements lose their criterion:", "Эти требования потеряют критерий:";
    nothing_erased: "Nothing is erased: what is deleted stays in the history and can be brought back together.", "Ничто не стирается: удалённое остаётся в истории и возвращается целиком.";

    // A save that came too late
    conflict: "Someone saved while you were writing", "Пока вы писали, кто-то сохранил";
    you_began: "You began with revision {}.", "Вы начали с ревизии {}.";
    saved_meanwhile: "saved revision {}", "— сохранена ревизия {}";
    nothing_lost: "Nothing of yours is lost and nothing of theirs is overwritten.", "Ваше не потеряно, чужое не перезаписано.";
    all_merged: "Nothing clashes: both changes are merged. Read them before you save.", "Противоречий нет: изменения объединены. Прочтите перед сохранением.";
    some_clash: "Fields that changed: {}. Fields that need you: {}.", "Изменено полей: {}. Требуют решения: {}.";
    before: "Before", "Было";
    theirs: "Theirs", "У них";
    mine: "Mine", "У меня";
    revision_of: "revision {}", "ревизия {}";
    not_saved: "not saved yet", "ещё не сохранено";
    only_theirs: "Only they changed it", "Изменили только они";
    only_mine: "Only you changed it", "Изменили только вы";
    both_changed: "Both changed it", "Изменили оба";
    take_theirs: "Take theirs", "Взять их";
    take_mine: "Take mine", "Взять моё";
    theirs_kept: "Merged: theirs is kept", "Объединено: взято их";
    mine_kept: "Merged: yours is kept", "Объединено: взято ваше";
    write_once: "or write it once, for both", "или напишите один раз для обоих";
    use_this: "Use this text", "Взять этот текст";
    read_before: "Read it before you save.", "Прочтите перед сохранением.";
    keep_theirs: "Keep theirs, drop mine", "Оставить их, моё убрать";

    // Document
    outline: "Outline", "Содержание";
    export: "Export", "Экспорт";
    next_part: "Next part", "Следующая часть";

    // Words that are verbs here
    link_it: "Link", "Связать";
    comment_it: "Comment", "Комментировать";
    linked_to: "linked: {}", "связь: {}";
    empty_here: "There is nothing here yet.", "Здесь пока ничего нет.";

    // Home and the overview of a project
    assigned_to_you: "Assigned to you", "Поручено вам";
    nothing_assigned: "Nothing is assigned to you.", "Вам ничего не поручено.";
    recently_changed: "Recently changed", "Недавно изменено";
    changed: "Changed", "Изменено";
    new_project: "New project", "Новый проект";
    how_far: "How far it has come", "Как далеко мы";
    in_all: "In all", "Всего";
    by_status: "By status", "По статусам";
    gaps: "Gaps", "Пробелы";
    no_gaps: "No gaps were found.", "Пробелов не найдено.";
    epics_without_stories: "epics without stories", "эпиков без историй";
    stories_without_criteria: "stories without criteria", "историй без критериев";
    stories_without_requirements: "stories without requirements", "историй без требований";
    criteria_without_requirements: "criteria no requirement serves", "критериев без требований";
    requirements_without_criterion: "requirements without a criterion", "требований без критерия";
    requirements_without_links: "requirements without links", "требований без связей";
    suspect_links: "suspect links", "связей под сомнением";
    cycles: "links that lead in a circle", "связей по кругу";
    nothing_yet: "Nothing here yet. Epics hold user stories, stories hold acceptance criteria and requirements. Start in whichever way suits you; nothing is final.", "Здесь пока пусто. Эпики содержат истории, истории — критерии приёмки и требования. Начните как удобно, всё можно изменить.";
    first_epic: "Write the first epic", "Написать первый эпик";
    look_example: "Look at an example", "Посмотреть пример";
    example_is: "120 believable items with links, comments and people. They stay in this project until you delete them.", "120 правдоподобных элементов со связями, комментариями и людьми. Они останутся в проекте, пока вы их не удалите.";
    load_example: "Load the example", "Загрузить пример";
    let_agent: "Let an agent write", "Поручить агенту";
    agent_reads: "Connect your AI host and ask it to read a text of yours into epics and requirements. You see every change.", "Подключите ИИ-агента и попросите разобрать ваш текст на эпики и требования. Вы увидите каждое изменение.";

    // Settings and connecting an agent
    settings: "Settings", "Настройки";
    look: "Language and theme", "Язык и тема";
    theme: "Theme", "Тема";
    theme_system: "As the system", "Как в системе";
    theme_light: "Light", "Светлая";
    theme_dark: "Dark", "Тёмная";
    agent: "Agent", "Агент";
    tokens: "Tokens", "Токены";
    tokens_are: "A token is a password for a program. It works with your rights or fewer, and can be revoked.", "Токен — пароль для программы. Он даёт ваши права или меньше, и его можно отозвать.";
    token_once: "Here is the token. It is shown now and never again.", "Вот токен. Он показан сейчас и больше никогда.";
    copy: "Copy", "Копировать";
    name: "Name", "Имя";
    scope: "May", "Права";
    project: "Project", "Проект";
    every_project: "Every project I can see", "Все видимые мне проекты";
    last_used: "Last used", "Последнее использование";
    ends: "Ends", "Действует до";
    never: "never", "никогда";
    revoke: "Revoke", "Отозвать";
    new_token: "New token", "Новый токен";
    works_for: "Works for so many days", "Срок, дней";
    make_token: "Make the token", "Создать токен";
    current_password: "Password now", "Нынешний пароль";
    new_password: "New password", "Новый пароль";
    change_password: "Change the password", "Сменить пароль";
    sessions_end: "All sessions end and you sign in again; tokens go on.", "Все сеансы закончатся, нужно войти снова; токены действуют.";
    agent_gets: "An agent gets its own token and no more rights than you have.", "Агент получает свой токен и не больше прав, чем у вас.";
    where_runs: "Where does the agent run?", "Где работает агент?";
    agent_name: "Name of the agent", "Имя агента";
    shown_at_changes: "The token is called so; it can be revoked by this name.", "Так называется токен; под этим именем его можно отозвать.";
    what_may: "What may it do?", "Что ему можно?";
    may_read: "Read", "Читать";
    may_write: "Read and write, never administer", "Читать и писать, но не управлять";
    shown_once: "It is shown once, on this page.", "Он показывается один раз, на этой странице.";
    your_agents: "Your agents", "Ваши агенты";

    // Baselines
    baseline_is: "A baseline is a name for the state of the project at one moment of its history, sealed by the hash of everything before it.", "Базовая версия — имя состояния проекта в один момент его истории, запечатанного хешем всего, что было до него.";
    compare: "Compare", "Сравнить";
    with: "with", "с";
    present: "the present", "настоящим";
    change_number: "Change", "Изменение";
    seal: "Seal", "Печать";
    new_baseline: "New baseline", "Новая базовая версия";
    stands_for: "What it stands for", "Что она означает";
    make_baseline: "Name the present", "Назвать настоящее";
    items_differ: "{} items differ", "Отличаются: {}";
    no_difference: "Nothing differs.", "Отличий нет.";
    added: "added", "добавлено";
    removed: "removed", "удалено";
    changed_word: "changed", "изменено";

    item_before: "Previous item", "Предыдущий элемент";
    item_behind: "Next item", "Следующий элемент";
    sessions: "Sessions", "Сеансы";
    sessions_are: "Where you are signed in. One that is ended has to sign in again.", "Где вы вошли. Завершённому придётся войти снова.";
    began: "Began", "Начат";
    end_session: "End", "Завершить";

    // Reviews
    reviews: "Reviews", "Рецензии";
    review_is: "A review asks people and agents about items as they stand. What is changed afterwards has to be asked about again.", "Рецензия спрашивает людей и агентов об элементах, какими они есть. О том, что изменилось потом, нужно спросить снова.";
    ask_review: "Ask for a review", "Запросить рецензию";
    review_open: "open", "открыта";
    review_approved: "approved", "одобрено";
    review_rejected: "rejected", "отклонено";
    review_closed: "closed", "закрыта";
    review_asked: "asked", "спрошен";
    all: "All", "Все";
    number: "Number", "Номер";
    answered: "Answered", "Ответили";
    asked_by: "Asked by", "Кто спрашивает";
    or_since_baseline: "And everything that differs from the baseline", "И всё, что отличается от базовой версии";
    who_is_asked: "Who is asked", "Кого спрашивают";
    names_apart: "Names of people and agents, separated by commas", "Имена людей и агентов через запятую";
    what_is_asked: "What is asked", "О чём спрашивают";
    changed_since: "{} changed since", "изменено с тех пор: {}";
    now_revision: "now revision {}", "теперь ревизия {}";
    verdict: "Verdict", "Решение";
    reason: "Reason", "Причина";
    reason_needed: "needed to reject", "нужна, чтобы отклонить";
    your_verdict: "Your verdict", "Ваше решение";
    approve: "Approve", "Одобрить";
    reject: "Reject", "Отклонить";
    ask_again: "Ask again about what it says now", "Спросить снова о нынешнем тексте";
    ask_again_first: "What was changed cannot be approved before it is asked about again.", "Изменённое нельзя одобрить, пока о нём не спросят снова.";
    manage_review: "Change who is asked, ask again, take back", "Кого спросить, спросить снова, отозвать";
    close_review: "Take it back", "Отозвать";
    is_deleted: "deleted", "удалён";
    page_before: "Previous page", "Предыдущая страница";
    asked_of_you: "Asked of you", "Спрашивают вас";
    approved_as_it_is: "approved as it is", "одобрен как есть";

    // Saved views
    views: "Views", "Виды";
    saved_views: "Saved views", "Сохранённые виды";
    view_is: "A view is a name for what a page shows. Its address can be sent to whoever may see the project.", "Вид — имя того, что показывает страница. Его адрес можно послать каждому, кто видит проект.";
    no_view: "Nothing is saved yet.", "Пока ничего не сохранено.";
    all_views: "All views", "Все виды";
    save_view: "Save view", "Сохранить вид";
    share_view: "for everybody", "для всех";
    shared: "shared", "общий";
    whose: "Whose", "Чей";
    page: "Page", "Страница";

    // Administration
    users: "Users", "Пользователи";
    workflows: "Workflows", "Процессы";
    types: "Types", "Типы";
    audit_trail: "Audit trail", "Журнал аудита";
    health: "Health", "Состояние сервера";
    database: "Database", "База данных";
    answers: "answers", "отвечает";
    is_silent: "does not answer", "не отвечает";
    changes_told: "Changes in the history", "Изменений в истории";
    role: "Role", "Роль";
    service_account_of: "service account of", "служебная запись:";
    disable: "Disable", "Отключить";
    enable: "Enable", "Включить";
    new_user: "New user", "Новый пользователь";
    key: "Key", "Ключ";
    everybody_is: "Whoever has an account is", "Каждый с учётной записью";
    members: "Members", "Участники";
    since: "Since", "С";
    remove: "Remove", "Убрать";
    add_member: "Add somebody, or change a role", "Добавить или сменить роль";
    workflow_is: "A status changes only along the ticked steps: from the row to the column.", "Статус меняется только по отмеченным шагам: из строки в столбец.";
    from_to: "From, to", "Из, в";
    add_status: "Add a status", "Добавить статус";
    requirement_types: "Types of requirements", "Типы требований";
    link_types: "Types of links", "Типы связей";
    add: "Add", "Добавить";
    inverse: "From the other end", "С другого конца";
    what_happened: "What happened", "Что произошло";
    address: "Address", "Адрес";
}

/// A text with values in place of its `{}`, in order.
pub(crate) fn fill(text: &str, values: &[&dyn std::fmt::Display]) -> String {
    let mut parts = text.split("{}");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    let mut values = values.iter();
    for part in parts {
        if let Some(value) = values.next() {
            filled.push_str(&value.to_string());
        }
        filled.push_str(part);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    //= specs/spexus-web.md#languages
    //= type=test
    //# Every text of a page MUST exist in every language, with the same places for values.
    #[test]
    fn every_text_has_its_translation_with_the_same_places_for_values() {
        for (name, english, russian) in TABLE {
            assert!(!english.trim().is_empty() && !russian.trim().is_empty(), "{name}");
            assert_eq!(
                english.matches("{}").count(),
                russian.matches("{}").count(),
                "{name}"
            );
            assert!(
                russian
                    .chars()
                    .any(|c| ('а'..='я').contains(&c.to_lowercase().next().unwrap_or(c))),
                "{name}: {russian:?} is not Russian"
            );
        }
    }

    #[test]
    fn values_go_to_their_places() {
        assert_eq!(fill("{} of {}", &[&1, &"two"]), "1 of two");
        assert_eq!(fill("plain", &[&1]), "plain");
    }
}
